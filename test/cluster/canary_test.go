package cluster

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestCanary starts pods that use secrets in every way there is, asks the agent everything that it answers, and looks
// for the secrets in all that it says and writes: plain, quoted, in base64, in hexadecimal, broken into lines.
//
// What is literally in a pod's manifest, and what a container itself writes to its log or as its last words, is no
// secret of the agent's: where those may be read is with those that are such (see secretBut).
func TestCanary(t *testing.T) {
	b := setup(t)
	b.alone(t)
	c := newCanaries(t, b)
	dir := t.TempDir()
	registry := c.registry()
	args, asked := c.providers(dir, registry)
	readOnly := freePort(t)
	var web interface{ Close() }
	config, err := b.WriteKubeletConfig("canary", func(k map[string]any) {
		server, more := c.manifests(k)
		web, args = server, append(args, more...)
		k["readOnlyPort"] = readOnly
		k["enableDebugFlagsHandler"] = true
	})
	must(t, err)
	good, wrong := c.bootstrapToken(dir)
	recording := filepath.Join(dir, "good.klr")
	user, password := c.secret("tunneluser"), c.secret("tunnelpassword")
	tunnel := "http://" + user + ":" + password + "@" + c.proxy(user, password)
	start := func(bootstrap string) *agent {
		a := b.start(t, lab.AgentConfig{
			State: "canary-" + rand.String(4), KubeletConfig: config, Env: []string{
				"TMPDIR=" + filepath.Join(dir, "tmp"), "HTTPS_PROXY=" + tunnel, "HTTP_PROXY=" + tunnel, "https_proxy=", "http_proxy=", "NO_PROXY=", "no_proxy=",
			},
			Args: append([]string{
				"--bootstrap-kubeconfig=" + bootstrap, "--record=" + bootstrap + ".klr", "--v=10",
				fmt.Sprintf("--otlp-http=127.0.0.1:%d", b.OTLPPort), "--cni-bin-dir=" + b.CNIBinDir,
			}, args...),
		})
		c.agent = a
		return a
	}
	must(t, os.Mkdir(filepath.Join(dir, "tmp"), 0o700))
	refused := start(wrong)
	eventually(t, "the end of the agent whose token nobody knows", func() string {
		if refused.Alive() {
			return "it runs"
		}
		return ""
	})
	if !strings.Contains(refused.said(), "does not accept the token") {
		t.Errorf("a wrong token: %s", refused.said())
	}
	c.look("what the agent with a wrong token said", []byte(refused.said()))
	a := start(good)
	a.ready()
	c.put("debug/flags/v", "10")
	c.csi()
	s := b.space(t)
	c.objects(s, registry)
	pods, said := c.ways(registry)
	more, words := c.later()
	maps.Copy(said, words)
	s.create(append(more, pods...)...)
	c.happened(s, said)
	c.goOn(s)
	c.spans(s)
	s.delete(-1, "last")
	s.event("last", "FailedPreStopHook")
	web.Close()
	eventually(t, "that the manifests are gone", func() string {
		if out := a.said(); !strings.Contains(out, "source.error") {
			return "no source.error"
		}
		return ""
	})
	if out, err := b.Kubectl(t.Context(), "-n", s.name, "exec", "ways", "-c", "main", "--", "echo", c.secret("exec")); err != nil || !strings.Contains(out, mark) {
		t.Fatalf("exec: %v %s", err, out)
	}
	c.strangers(readOnly)
	c.wentOn(s)
	c.own(s, a, asked)
	names := slices.Sorted(maps.Keys(said))
	c.everything(s, names, recording, readOnly)
	c.screens(s, recording)
	c.look("what the agent printed", []byte(a.said()))
	c.files(filepath.Dir(a.RootDir))
	c.files(filepath.Join(dir, "tmp"))

	// Another agent meets what the runtime still has of them, and ends with all that it was about.
	a.kill()
	a = b.start(t, lab.AgentConfig{State: filepath.Base(filepath.Dir(a.RootDir)), KubeletConfig: config, Args: args})
	a.ready()
	own := &space{bench: b, t: t, name: "default"}
	own.ready("web-" + lab.NodeName)
	c.agent = a
	socket := "--socket=" + filepath.Join(a.RootDir, "kubeloupe.sock")
	a.record("the status of a container of the agent before", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.PodStatus)
		return ok && r.Pod.Name == "command" && len(e.Containers) > 0
	})
	c.ask(s, "events", socket, "-o", "json")
	c.ask(s, "why", "--all", socket)
	out, err := b.Kubectl(t.Context(), "get", "pods", "-A", "-o", "json")
	must(t, err)
	c.look("API pods, later", []byte(out))
	out, err = b.Kubectl(t.Context(), "get", "events", "-A", "-o", "json")
	must(t, err)
	c.look("Events, later", []byte(out))
	eventually(t, "the agent's records of all pods", func() string {
		said := a.said()
		for _, name := range names {
			if !strings.Contains(said, "/"+name) && !strings.Contains(said, `"`+name+`"`) {
				return "they say nothing of " + name + ": what is looked at?"
			}
		}
		return ""
	})
	must(t, syscall.Kill(a.PID(), syscall.SIGQUIT))
	eventually(t, "its end", func() string {
		if a.Alive() {
			return "it runs"
		}
		return ""
	})
	if !strings.Contains(a.said(), "goroutine 1 ") {
		t.Error("it said nothing of its goroutines")
	}
	c.look("what the next agent printed", []byte(a.said()))
}

// happened waits until everything has happened that tells of a secret.
func (c *canaries) happened(s *space, said map[string]string) {
	c.t.Helper()
	(&space{bench: c.bench, t: c.t, name: "default"}).ready("web-" + lab.NodeName)
	s.wait("ways", "running", func(p *v1.Pod) bool {
		return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Running != nil
	})
	for _, pod := range slices.Sorted(maps.Keys(said)) {
		eventually(c.t, pod+": "+said[pod], func() string {
			out, err := c.bench.Kubectl(c.t.Context(), "-n", s.name, "get", "events", "--field-selector", "involvedObject.name="+pod, "-o", "json")
			if err != nil || !strings.Contains(out, said[pod]) {
				return out
			}
			return ""
		})
	}
}

// own has what the agent itself got be looked for: tokens and keys.
func (c *canaries) own(s *space, a *agent, asked string) {
	c.t.Helper()
	p, err := s.get("ways")
	must(c.t, err)
	c.token("token", strings.TrimSpace(read(c.t, filepath.Join(a.RootDir, "pods", string(p.UID), "volumes/kubernetes.io~projected/both/token"))))
	_, token, _ := strings.Cut(read(c.t, asked), `"serviceAccountToken":"`)
	token, _, _ = strings.Cut(token, `"`)
	c.token("account", token)
	pair := read(c.t, filepath.Join(filepath.Dir(a.RootDir), "pki", "kubelet-client-current.pem"))
	_, key, found := strings.Cut(pair, "PRIVATE KEY-----\n")
	if !found {
		c.t.Errorf("there is no key in the client's certificate's file")
		return
	}
	c.watch("key", `^/pki/kubelet-client-`, spelled(strings.Split(key, "\n")[1])...)
}

// undo does something when the test ends.
func (c *canaries) undo(what func() error) {
	c.t.Cleanup(func() {
		if err := what(); err != nil {
			c.t.Error("clean up:", err)
		}
	})
}

func noDeadline(t *testing.T) context.Context { return context.WithoutCancel(t.Context()) }

// freePort returns a TCP port that nobody uses. The kernel gives it to no connection of others before the agent listens there.
func freePort(t *testing.T) int {
	t.Helper()
	const first, last = 23000, 24000 // below net.ipv4.ip_local_port_range
	for port := first; port < last; port++ {
		if l, err := net.Listen("tcp", fmt.Sprintf(":%d", port)); err == nil {
			must(t, l.Close())
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}
