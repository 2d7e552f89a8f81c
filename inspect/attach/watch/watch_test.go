package watch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/inspect/attach/watch"
	"github.com/kubeloupe/kubeloupe/trace"
)

const uid = "11111111-2222-3333-4444-555555555555"

// kubeletLine is an entry of now.
func kubeletLine(msg string) string {
	return fmt.Sprintf("I%s    2310 a.go:245] %s\n", time.Now().Format("0102 15:04:05.000000"), msg)
}

func runtimeLine(msg string) string {
	return fmt.Sprintf("time=%q level=info msg=%q\n", time.Now().Format(time.RFC3339Nano), msg)
}

func put(t *testing.T, path string, lines ...string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, err = f.WriteString(strings.Join(lines, ""))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestWatch writes the logs of a kubelet and a runtime, and reads what is published: what was there before, what both tell of as one span,
// and that a log cannot be read.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	kubelet, runtime := filepath.Join(dir, "kubelet.log"), filepath.Join(dir, "containerd.log")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		bus := trace.NewBus(0)
		cur := bus.Subscribe(trace.FromOldest)
		defer cur.Close()
		put(t, kubelet, kubeletLine(`"SyncLoop ADD" source="api" pods=["a/long-ago"]`))
		time.Sleep(20 * time.Minute)
		put(t, kubelet, kubeletLine(`"SyncLoop ADD" source="api" pods=["a/before"]`))
		time.Sleep(time.Minute)
		found := &discover.Found{Log: discover.Log{Kind: discover.LogFile, Path: kubelet, Open: kubelet}, Process: &discover.Process{PID: 1}}
		found.Runtime.Log = discover.Log{Kind: discover.LogFile, Path: runtime, Open: runtime}
		machine := fstest.MapFS{"proc/1/stat": {Data: []byte("1 (kubelet) S 0 1")}}
		w := watch.New(watch.Config{Found: found, Bus: bus, View: machine})
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		next := func() string {
			time.Sleep(20 * time.Second)
			synctest.Wait()
			recs, _ := cur.Poll(make([]trace.Record, 0, 100))
			return told(recs)
		}
		check := func(name, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%s: got\n%swant\n%s", name, got, want)
			}
		}
		check("at its start", next(), `agent log attach: the runtime's log cannot be read; attach retries: open `+runtime+`: no such file or directory
kubelet-log milestone a/before seen
kubelet-log loop
`)
		put(t, runtime, runtimeLine("loading plugin"))
		time.Sleep(10 * time.Second)
		put(t, kubelet, kubeletLine(`"SyncLoop ADD" source="api" pods=["a/b"]`), kubeletLine(`"Creating PodSandbox for pod" pod="a/b" podUID="`+uid+`"`))
		put(t, runtime, runtimeLine(`RunPodSandbox for name:"b" uid:"`+uid+`" namespace:"a"`))
		time.Sleep(300 * time.Millisecond)
		put(t, runtime, runtimeLine(`RunPodSandbox for name:"b" uid:"`+uid+`" namespace:"a" returns sandbox id "0123456789abcdef"`))
		put(t, kubelet, kubeletLine(`"Created PodSandbox for pod" pod="a/b" podUID="`+uid+`" podSandboxID="0123456789abcdef"`))
		check("a pod", next(), `kubelet-log milestone a/b seen
kubelet-log loop
kubelet-log begin action a/b sandbox also runtime-log
runtime-log begin call a/b RunPodSandbox
runtime-log end call a/b RunPodSandbox 300ms
kubelet-log end action a/b sandbox also runtime-log 300ms
`)
		if err := os.Truncate(kubelet, 0); err != nil {
			t.Fatal(err)
		}
		put(t, kubelet, kubeletLine(`"What nobody knows" key="value"`))
		check("truncated", next(), `agent log attach: `+kubelet+`: the log was truncated: what was written to it since the last look is missing
kubelet-log log What nobody knows
`)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// told writes records one a line.
func told(recs []trace.Record) string {
	var b strings.Builder
	for i := range recs {
		r := &recs[i]
		b.WriteString(r.Observer.String() + " ")
		switch r.Edge {
		case trace.EdgeBegin:
			b.WriteString("begin ")
		case trace.EdgeEnd:
			b.WriteString("end ")
		case trace.EdgePoint:
		}
		pod := ""
		if r.Pod.Name != "" {
			pod = r.Pod.String() + " "
		}
		switch e := r.Event.(type) {
		case *trace.Log:
			b.WriteString("log " + pod + e.Message)
		case *trace.Milestone:
			b.WriteString("milestone " + pod + string(e.Name))
		case *trace.Action:
			b.WriteString("action " + pod + e.ID)
		case *trace.CRICall:
			b.WriteString("call " + pod + e.Method)
		default:
			b.WriteString(r.Event.Kind().String()[strings.IndexByte(r.Event.Kind().String(), '.')+1:])
		}
		if s := r.Also.String(); s != "" {
			b.WriteString(" also " + s)
		}
		if r.Dur > 0 {
			b.WriteString(" " + r.Dur.String())
		}
		b.WriteString("\n")
	}
	return b.String()
}
