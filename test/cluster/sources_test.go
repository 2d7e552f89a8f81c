package cluster

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

var listOptions = metav1.ListOptions{}

// TestSources has pods of all sources at once. While one of them has not reported, nothing is deleted.
func TestSources(t *testing.T) {
	b := setup(t)
	b.node(t).stop()
	var broken atomic.Bool
	var script atomic.Value
	script.Store(forever)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, manifest("web", script.Load().(string)))
	}))
	defer web.Close()
	config, err := b.WriteKubeletConfig("sources", func(c map[string]any) {
		c["staticPodURL"], c["httpCheckFrequency"], c["fileCheckFrequency"] = web.URL, "1s", "1s"
	})
	if err != nil {
		t.Fatal(err)
	}
	start := func() *agent {
		a := b.start(t, lab.AgentConfig{KubeletConfig: config})
		a.ready()
		return a
	}
	a := start()
	t.Cleanup(func() {
		if a := b.Agent(); a != nil {
			(&agent{Agent: a, bench: b, t: t}).stop()
		}
	})
	s, own := b.space(t), &space{bench: b, t: t, name: "default"}
	file, remote := "file-"+lab.NodeName, "web-"+lab.NodeName
	path := b.static(t, "file", forever)
	s.create(pod("api", forever))
	s.ready("api")
	own.ready(file, remote)

	// A mirror that somebody deletes is made again, and its pod continues.
	was := own.wait(file, "ready", isReady)
	own.delete(0, file)
	now := own.wait(file, "made again", func(p *v1.Pod) bool { return p.UID != was.UID && isReady(p) })
	if now.Status.ContainerStatuses[0].ContainerID != was.Status.ContainerStatuses[0].ContainerID {
		t.Errorf("%s is %s: the pod did not go on", identity(was), identity(now))
	}
	// Mirrors follow.
	script.Store("echo changed; " + forever)
	if err := os.WriteFile(path, []byte(manifest("file", "echo changed; "+forever)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{file, remote} {
		own.wait(n, "changed", func(p *v1.Pod) bool {
			return strings.Contains(p.Spec.Containers[0].Command[2], "changed") && isReady(p)
		})
	}
	// With the server down, a new agent deletes nothing, not even what is deleted elsewhere.
	a.kill()
	broken.Store(true)
	s.delete(0, "api")
	a = start()
	s.create(pod("new", forever))
	s.ready("new")
	time.Sleep(3 * time.Second)
	left := map[string]bool{}
	for thing := range b.things(t) {
		if f := strings.Fields(thing); f[0] == "container" {
			left[f[1]] = true
		}
	}
	if !left["api/main"] || !left[remote+"/main"] {
		t.Errorf("with a source that did not report, these are left: %v", left)
	}
	if _, err := own.get(remote); err != nil {
		t.Errorf("the mirror of a pod of which the source did not report: %v", err)
	}
	broken.Store(false)
	eventually(t, "the deleted pod's end", func() string {
		for thing := range b.things(t) {
			if strings.HasPrefix(thing, "container api/") {
				return thing
			}
		}
		return ""
	})
	own.ready(remote)
	// What a source has no more ends, and its mirror.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the mirror's end", func() string {
		if p, err := own.get(file); err == nil {
			return short(p)
		}
		return ""
	})
	script.Store("")
	a.stop()
}
