package cri

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// loud is a runtime whose commands print a lot, hang or fail, depending on Cmd.
type loud struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	out []byte
}

func (*loud) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{RuntimeApiVersion: "v1"}, nil
}

func (l *loud) ExecSync(ctx context.Context, r *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
	switch r.GetCmd()[0] {
	case "hang":
		<-ctx.Done()
		return nil, ctx.Err()
	case "fail":
		return nil, status.Error(codes.Internal, strings.Repeat("e", 100_000))
	}
	return &runtimeapi.ExecSyncResponse{Stdout: l.out, Stderr: []byte("note"), ExitCode: 3}, nil
}

func dialLoud(t *testing.T, size int, bus *trace.Bus) *Client {
	t.Helper()
	return dial(t, Config{Bus: bus, Endpoint: serve(t, func(g *grpc.Server) {
		runtimeapi.RegisterRuntimeServiceServer(g, &loud{out: bytes.Repeat([]byte("x"), size)})
	})})
}

// TestLoudCommandsAreNotKept makes 150 calls with responses of one megabyte each. Only the requested part is kept.
func TestLoudCommandsAreNotKept(t *testing.T) {
	const size = 1 << 20
	rec := tracetest.New(t)
	c := dialLoud(t, size, rec.Bus())
	ctx := LimitOutput(t.Context(), 10<<10)
	before := live()
	var said [][]byte
	for range 150 {
		r, err := c.Runtime.ExecSync(ctx, &runtimeapi.ExecSyncRequest{Cmd: []string{"print"}})
		if err != nil || len(r.GetStdout()) != 10<<10 || cap(r.GetStdout()) > 11<<10 || string(r.GetStderr()) != "note" || r.GetExitCode() != 3 {
			t.Fatalf("%d bytes, %v", len(r.GetStdout()), err)
		}
		said = append(said, r.GetStdout())
	}
	if grown := live() - before; grown > 20<<20 {
		t.Errorf("%d bytes more are alive", grown)
	}
	runtime.KeepAlive(said)
	calls := rec.OfKind("cri.call")
	if last := calls[len(calls)-1]; len(calls) != 2+2*150 || last.Edge != trace.EdgeEnd {
		t.Fatalf("%d records", len(calls))
	}
	if p, err := json.Marshal(calls[len(calls)-1].Event.(*trace.CRICall).Response); string(p) != `{"exitCode":3,"stdoutBytes":10240,"stderrBytes":4}` {
		t.Errorf("%s, %v", p, err)
	}
	if r, err := c.Runtime.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{Cmd: []string{"print"}}); err != nil || len(r.GetStdout()) != size {
		t.Errorf("all of it: %d bytes, %v", len(r.GetStdout()), err)
	}
}

// TestCommandsThatHangHoldNobodyUp runs more commands that never exit than responses are received at once.
func TestCommandsThatHangHoldNobodyUp(t *testing.T) {
	c := dialLoud(t, 5<<20, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var hung, wg sync.WaitGroup
	for range 5 * answersAtOnce {
		hung.Go(func() {
			if _, err := c.Runtime.ExecSync(ctx, &runtimeapi.ExecSyncRequest{Cmd: []string{"hang"}}); status.Code(err) != codes.Canceled {
				t.Error(err)
			}
		})
	}
	for range 5 * answersAtOnce {
		wg.Go(func() {
			if r, err := c.Runtime.ExecSync(ctx, &runtimeapi.ExecSyncRequest{Cmd: []string{"print"}}); err != nil || len(r.GetStdout()) != 5<<20 {
				t.Error(err)
			}
		})
	}
	_, err := c.Runtime.ExecSync(ctx, &runtimeapi.ExecSyncRequest{Cmd: []string{"fail"}})
	if s := status.Convert(err); s.Code() != codes.Internal || len(s.Message()) != 100_000 {
		t.Errorf("%s, %d bytes", s.Code(), len(s.Message()))
	}
	wg.Wait()
	cancel()
	hung.Wait()
}

// TestLargeMessagesAreShrunk: what is kept of a request with a large environment is small, and says how large it was.
func TestLargeMessagesAreShrunk(t *testing.T) {
	req := &runtimeapi.CreateContainerRequest{PodSandboxId: "sandbox", Config: &runtimeapi.ContainerConfig{
		Metadata:    &runtimeapi.ContainerMetadata{Name: "web"},
		Annotations: map[string]string{"b": strings.Repeat("v", 50_000), "a": "first"},
	}}
	for range 10_000 {
		req.Config.Envs = append(req.Config.Envs, &runtimeapi.KeyValue{Key: "DB_PASSWORD", Value: bytes.Repeat([]byte("hunter2"), 20)}, &runtimeapi.KeyValue{Key: "K", Value: bytes.Repeat([]byte("v"), 1000)})
	}
	b := bodyOf(req, nil)
	p, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	text := string(p)
	for _, want := range []string{`{"clipped":"11`, `"podSandboxId":"sandbox"`, `"name":"web"`, `"a":"first"`, "…[clipped: 1000 bytes]", "…[clipped: 50000 bytes]"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %.300s", want, text)
		}
	}
	if len(text) > trace.MaxBody || strings.Contains(text, "hunter2") {
		t.Errorf("%d bytes", len(text))
	}
	small, _ := json.Marshal(bodyOf(&runtimeapi.CreateContainerRequest{PodSandboxId: "s"}, nil))
	if string(small) != `{"podSandboxId":"s"}` {
		t.Errorf("%s", small)
	}
}

// FuzzAnswer compares the decoded response with the protobuf library's result. The library also skips groups, which are
// errors here. The runtime writes the responses.
func FuzzAnswer(f *testing.F) {
	for _, m := range []*runtimeapi.ExecSyncResponse{{}, {Stdout: []byte("out"), Stderr: []byte("err"), ExitCode: -3}, {Stdout: bytes.Repeat([]byte("x"), 100)}} {
		p, _ := proto.Marshal(m)
		f.Add(p)
	}
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 'x'})
	f.Add([]byte{0x0d, 1, 2, 3, 4, 0x2a, 1, 'x', 0x18, 5})
	f.Fuzz(func(t *testing.T, p []byte) {
		const limit = 8
		var got, want runtimeapi.ExecSyncResponse
		err := headCodec{limit: limit}.Unmarshal(mem.BufferSlice{mem.SliceBuffer(p)}, &got)
		if proto.Unmarshal(p, &want) != nil || errors.Is(err, errGroup) {
			return
		}
		if err != nil {
			t.Fatalf("%x: %v", p, err)
		}
		if got.ExitCode != want.ExitCode || !bytes.Equal(got.Stdout, want.Stdout[:min(limit, len(want.Stdout))]) || !bytes.Equal(got.Stderr, want.Stderr[:min(limit, len(want.Stderr))]) {
			t.Errorf("%x: %v, want %v", p, &got, &want)
		}
	})
}

// live returns the size of the live heap in bytes.
func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkLargeRequest computes the body of a request with 70,000 variables of 100 bytes.
func BenchmarkLargeRequest(b *testing.B) {
	r := &runtimeapi.CreateContainerRequest{Config: &runtimeapi.ContainerConfig{}}
	for i := range 70_000 {
		r.Config.Envs = append(r.Config.Envs, &runtimeapi.KeyValue{Key: fmt.Sprintf("VARIABLE_%06d", i), Value: bytes.Repeat([]byte("x"), 80)})
	}
	b.ReportAllocs()
	for b.Loop() {
		bodyOf(r, nil)
	}
}
