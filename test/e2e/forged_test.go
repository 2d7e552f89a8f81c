package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kubeloupe/kubeloupe/inspect/otlp"
	"github.com/kubeloupe/kubeloupe/trace"
)

const nobody = 65534

// forger paints into a pod's waterfall, as far as it is let.
type forger struct {
	t    *testing.T
	addr string // of the receiver
	cni  string // directory of plugins
}

// plugin runs a CNI plugin for a pod, with a name of an interface that gives it away, for half a second.
func (f *forger) plugin(ctx context.Context, uid uint32, pod trace.Pod, sandbox string) {
	program, err := os.Open(filepath.Join(f.cni, "bridge"))
	if err != nil {
		f.t.Error(err)
		return
	}
	defer func() { _ = program.Close() }()
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/fd/3") // the lab's directory may be closed to others, a node's is not
	cmd.ExtraFiles = []*os.File{program}
	in, err := cmd.StdinPipe() // it reads its configuration, and waits for it
	if err != nil {
		f.t.Error(err)
		return
	}
	defer func() { _ = in.Close() }()
	cmd.Env = []string{
		"CNI_COMMAND=ADD", "CNI_IFNAME=forged0", "CNI_CONTAINERID=" + sandbox, "CNI_NETNS=/proc/self/ns/net", "CNI_PATH=" + f.cni,
		"CNI_ARGS=K8S_POD_NAMESPACE=" + pod.Namespace + ";K8S_POD_NAME=" + pod.Name + ";K8S_POD_UID=" + pod.UID,
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	if err := cmd.Start(); err != nil {
		if ctx.Err() == nil { // the attack may be over just now
			f.t.Errorf("run bridge as %d: %v", uid, err)
		}
		return
	}
	_ = cmd.Wait() // it is killed
}

// span posts one as a user, and returns what the receiver said.
func (f *forger) span(uid uint32, call trace.Record, id trace.SpanID, at time.Time) string {
	be := binary.BigEndian
	body, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{
		TraceId: be.AppendUint64(be.AppendUint64(nil, call.Trace.Hi), call.Trace.Lo), SpanId: be.AppendUint64(nil, uint64(id)),
		ParentSpanId: be.AppendUint64(nil, uint64(call.Span)), Name: "forged", StartTimeUnixNano: uint64(at.UnixNano()), EndTimeUnixNano: uint64(at.UnixNano() + 1000),
	}}}}}}})
	if err != nil {
		f.t.Error(err)
	}
	host, port, _ := strings.Cut(f.addr, ":")
	cmd := exec.CommandContext(f.t.Context(), "/bin/bash", "-c", "exec 3<>/dev/tcp/"+host+"/"+port+" && cat >&3 && head -n 1 <&3")
	cmd.Stdin = bytes.NewReader(fmt.Appendf(nil, "POST /v1/traces HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/x-protobuf\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, _ := cmd.CombinedOutput() // a refused connection fails
	return string(out)
}

// TestForgedSpans: while a pod starts on containerd, another user, and root who is not the runtime, run the CNI plugins for its sandbox, and
// post spans that name its calls. None is in its waterfall, and what the runtime does is.
func TestForgedSpans(t *testing.T) {
	b := setup(t)
	ctx := t.Context()
	bus := trace.NewBus(1 << 15)
	cursor := bus.Subscribe(trace.FromOldest)
	defer cursor.Close()
	receiver, err := otlp.New(otlp.Config{
		HTTP: fmt.Sprintf("127.0.0.1:%d", b.OTLPPort), CNIBinDirs: []string{b.CNIBinDir}, Runtime: b.RuntimeEndpoint, Bus: bus,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := receiver.Listen(ctx); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	running, stop := context.WithCancel(ctx)
	go func() { served <- receiver.Run(running) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	_, addr := receiver.Addrs()
	f := &forger{t: t, addr: addr, cni: b.CNIBinDir}

	seen := &spans{calls: map[trace.SpanID]*trace.CRICall{}, told: map[trace.SpanID]trace.Record{}}
	var pod trace.Pod
	for i := 1; ; i++ { // see TestRuntimeSpans
		name := fmt.Sprintf("forged%d", i)
		pod = trace.Pod{Namespace: "default", Name: name, UID: "uid-" + name}
		attack, over := context.WithCancel(ctx)
		var attackers sync.WaitGroup
		for _, uid := range []uint32{0, nobody} {
			attackers.Go(func() {
				for attack.Err() == nil {
					f.plugin(attack, uid, pod, "0123456789abcdef")
				}
			})
		}
		attackers.Go(func() { // it knows the call's ids, as nobody does
			watch := bus.Subscribe(trace.FromOldest)
			defer watch.Close()
			for {
				recs, _, err := watch.Next(attack, make([]trace.Record, 0, 64))
				if err != nil {
					return
				}
				for _, r := range recs {
					if e, ok := r.Event.(*trace.CRICall); ok && e.Method == "RunPodSandbox" && r.Pod == pod && r.Edge == trace.EdgeBegin {
						if said := f.span(nobody, r, 1001, time.Now()); strings.Contains(said, "HTTP/") {
							t.Errorf("another user's span is answered: %s", said)
						}
					}
				}
			}
		})
		startByCRI(t, b, bus, pod)
		over()
		attackers.Wait()
		if missing := seen.await(ctx, t, deadline, cursor, pod, fromRuntime); len(missing) > 0 {
			t.Fatalf("missing: %s; %+v", strings.Join(missing, ", "), receiver.Stats())
		}
		missing := seen.await(ctx, t, 2*time.Second, cursor, pod, fromPlugins)
		if len(missing) == 0 {
			break
		}
		if i == 10 {
			t.Fatalf("missing: %s; %+v", strings.Join(missing, ", "), receiver.Stats())
		}
	}
	for _, r := range seen.all { // the call is finished: also root's spans come too late
		if e, ok := r.Event.(*trace.CRICall); ok && r.Edge == trace.EdgeEnd && e.Method == "RunPodSandbox" {
			time.Sleep(time.Until(r.At().Add(1500 * time.Millisecond)))
			if said := f.span(0, r, 1002, time.Now()); !strings.Contains(said, "200 OK") {
				t.Errorf("root's span: %s", said)
			}
			f.plugin(ctx, 0, r.Pod, "0123456789abcdef")
		}
	}
	seen.await(ctx, t, 2*time.Second, cursor, trace.Pod{Name: "none"}, fromRuntime) // reads what there is
	for _, r := range seen.told {
		if e := r.Event.(*trace.RuntimeSpan); e.Name == "forged" || strings.Contains(fmt.Sprint(e.Attrs), "forged0") {
			t.Errorf("forged: %s %v of %s at %v", e.Name, e.Attrs, r.Pod, time.Unix(0, e.Start))
		}
	}
	if st := receiver.Stats(); st.Strangers == 0 || st.Outside == 0 {
		t.Errorf("nothing was refused: %+v", st)
	}
}
