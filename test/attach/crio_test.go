package attach

import (
	"context"
	"encoding/json"
	"flag"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/test/lab"
)

var withCRIO = flag.Bool("crio", false, "run TestCRIO, for which CRI-O is built once: some ten minutes")

// TestCRIO has upstream's kubelet run on CRI-O: attach finds it and follows its log.
func TestCRIO(t *testing.T) {
	if !*withCRIO {
		t.Skip("takes -crio")
	}
	b := setup(t)
	crio := b.onCRIO(t)
	var f discover.Found
	pid := strconv.Itoa(b.kubelet.PID())
	if err := json.Unmarshal([]byte(b.kubeloupe(t, "attach", "--check", "-o", "json", "--pid", pid)), &f); err != nil {
		t.Fatal(err)
	}
	t.Log(b.kubeloupe(t, "attach", "--check", "--pid", pid))
	switch r := f.Runtime; {
	case r.Name != "cri-o" || r.Endpoint != crio.Endpoint || r.Trouble != "":
		t.Errorf("found the runtime %+v", r)
	case r.Process == nil || r.Process.PID != crio.PID():
		t.Errorf("found its process %+v, want %d", r.Process, crio.PID())
	case r.Log.Kind != discover.LogFile || r.Log.Path != crio.LogFile:
		t.Errorf("found its log in %+v, want %s", r.Log, crio.LogFile)
	case strings.Join(r.CNIDirs, " ") != b.CNIBinDir+" "+b.CNIOwnDir:
		t.Errorf("found its CNI plugins in %v", r.CNIDirs)
	}
	a := b.attach(t)
	b.create(t, "on-crio")
	a.tells(t, `"runtime-log"`, `"on-crio"`, `"cni.setup_pod_network"`)
	eventually(t, "the start of the pod", func() string {
		text := b.kubeloupe(t, "trace", "default/on-crio", "--socket", a.socket)
		for _, want := range []string{"RunPodSandbox", "create   prepare", "init", "start    web", "ready"} {
			if !strings.Contains(text, want) {
				return want + " is missing in:\n" + text
			}
		}
		t.Log(text)
		return ""
	})
}

// onCRIO has the kubelet run on CRI-O until the test ends.
func (b *bench) onCRIO(t *testing.T) *lab.CRIO {
	t.Helper()
	crio, err := b.StartCRIO(t.Context(), lab.CRIOConfig{Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	config, err := b.WriteKubeletConfig("crio", func(config map[string]any) { config["containerRuntimeEndpoint"] = crio.Endpoint })
	if err != nil {
		t.Fatal(err)
	}
	restart := func(ctx context.Context, config string) {
		if err := b.kubelet.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		if b.kubelet, err = b.start(ctx, t.Output(), 4, func(a *lab.AgentConfig) { a.KubeletConfig = config }); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		restart(ctx, "")
		if err := crio.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	restart(t.Context(), config)
	return crio
}
