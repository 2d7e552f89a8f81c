package proxy

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// A pod of upstream's kubelet is stepped: it waits before each call, one call fails as the person says, and the kubelet does what it does
// about that.
func TestStep(t *testing.T) {
	b := setup(t)
	if err := b.kubelet(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), b.Binary, "step", "--socket", b.control(), "--pod", "default/stepped", "--no-tui")
	c.Stdin = strings.NewReader(strings.Join([]string{
		"b CreateContainer", "c", // until the sandbox is there
		"p", `fail Unavailable "the person says no"`, "n", // after it
		"c", "until started", "q",
	}, "\n") + "\n")
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := b.await(t, func(context.Context) error { // else the pod may be faster
		if said := b.kubeloupe(t, "events", "-o", "json"); !strings.Contains(said, "pod default/stepped: a client steps it") {
			return errors.New("no session yet")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	b.create(t, b.pod("stepped"))
	b.runs(t, "stepped") // after the kubelet tried again
	_ = c.Process.Kill()
	_ = c.Wait()
	t.Log(out.String())
	for _, want := range []string{"paused before  sandbox", "paused before  create main", `"name": "main"`, "CANARY", "the person says no", "continues by itself in"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the session does not say %q", want)
		}
	}
	if strings.Contains(out.String(), "c4nary") {
		t.Error("the session shows a variable's value")
	}
	events, err := b.Kubectl(t.Context(), "get", "events", "--field-selector", "involvedObject.name=stepped", "-o", "jsonpath={.items[*].message}")
	if err != nil || !strings.Contains(events, "the person says no") {
		t.Errorf("the kubelet's Events: %s, %v", events, err)
	}
}
