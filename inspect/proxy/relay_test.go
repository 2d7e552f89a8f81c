package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Metadata, deadline, header, trailer and the answer come through; a traceparent is added where there is none.
func TestUnary(t *testing.T) {
	var got metadata.MD
	var left time.Duration
	f := &fake{run: func(ctx context.Context, r *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
		got, _ = metadata.FromIncomingContext(ctx)
		at, _ := ctx.Deadline()
		left = time.Until(at)
		grpc.SetHeader(ctx, metadata.Pairs("head", "h1"))
		grpc.SetTrailer(ctx, metadata.Pairs("tail", "t1", "tail-bin", "\x00\xff"))
		return &runtimeapi.RunPodSandboxResponse{PodSandboxId: r.GetConfig().GetMetadata().GetName() + "-s"}, nil
	}}
	l := begin(t, f, nil)
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "who", "kubelet", "raw-bin", "\x01\xfe"), time.Hour)
	defer cancel()
	var header, trailer metadata.MD
	r, err := l.runtime().RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: web}, grpc.Header(&header), grpc.Trailer(&trailer), grpc.UseCompressor(gzip.Name))
	fail(t, err)
	if r.GetPodSandboxId() != "web-s" {
		t.Errorf("answer %v", r)
	}
	if header.Get("head")[0] != "h1" || trailer.Get("tail")[0] != "t1" || trailer.Get("tail-bin")[0] != "\x00\xff" {
		t.Errorf("header %v, trailer %v", header, trailer)
	}
	if got.Get("who")[0] != "kubelet" || got.Get("raw-bin")[0] != "\x01\xfe" {
		t.Errorf("metadata %v", got)
	}
	if left < 50*time.Minute || left > time.Hour {
		t.Errorf("the runtime has %v", left)
	}
	var call *trace.Record
	recs := l.records(t)
	for i := range recs {
		if recs[i].Observer != trace.ObserverProxy || recs[i].Pod != webPod {
			t.Errorf("%+v", recs[i])
		}
		if e, ok := recs[i].Event.(*trace.CRICall); ok && recs[i].Edge == trace.EdgeEnd {
			call = &recs[i]
			if e.Method != "RunPodSandbox" || e.Code != "OK" {
				t.Errorf("%+v", e)
			}
		}
	}
	if call == nil {
		t.Fatal("no call was published")
	}
	if want := (trace.Span{Trace: call.Trace, ID: call.Span}).Traceparent(); len(got.Get("traceparent")) != 1 || got.Get("traceparent")[0] != want {
		t.Errorf("traceparent %v, want %s", got.Get("traceparent"), want)
	}

	const own = "00-0102030405060708090a0b0c0d0e0f10-1112131415161718-01"
	_, err = l.runtime().RunPodSandbox(metadata.AppendToOutgoingContext(t.Context(), "traceparent", own), &runtimeapi.RunPodSandboxRequest{Config: web})
	fail(t, err)
	if all := got.Get("traceparent"); len(all) != 1 || all[0] != own {
		t.Errorf("traceparent %v, want the kubelet's own", all)
	}
	for _, r := range l.records(t) {
		if r.Trace.String() != "0102030405060708090a0b0c0d0e0f10" {
			if _, ok := r.Event.(*trace.Milestone); !ok {
				t.Errorf("%T is not part of the kubelet's trace", r.Event)
			}
		}
	}
}

// A status comes with its details, and the trailer with it.
func TestStatus(t *testing.T) {
	f := &fake{run: func(ctx context.Context, _ *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
		grpc.SetTrailer(ctx, metadata.Pairs("tail", "t1"))
		s, err := status.New(codes.ResourceExhausted, "no room: \n ü").WithDetails(&errdetails.RetryInfo{}, wrapperspb.String("more"))
		if err != nil {
			return nil, err
		}
		return nil, s.Err()
	}}
	l := begin(t, f, nil)
	for name, conn := range map[string]*grpc.ClientConn{"through the proxy": l.conn, "direct": l.direct} {
		var trailer metadata.MD
		_, err := runtimeapi.NewRuntimeServiceClient(conn).RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: web}, grpc.Trailer(&trailer))
		s := status.Convert(err)
		if s.Code() != codes.ResourceExhausted || s.Message() != "no room: \n ü" || len(s.Details()) != 2 || len(trailer.Get("tail")) != 1 || len(trailer.Get("grpc-status-details-bin")) > 1 {
			t.Errorf("%s: %v, details %v, trailer %v", name, s, s.Details(), trailer)
		}
	}
	if _, err := l.runtime().Status(t.Context(), &runtimeapi.StatusRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("a method that the runtime does not have: %v", err)
	}
}

// Whoever gives up ends the call at the runtime, by cancellation and by deadline. A call that nobody waits for is not forwarded.
func TestCanceled(t *testing.T) {
	came, ended := make(chan struct{}, 100), make(chan error, 100)
	f := &fake{run: func(ctx context.Context, _ *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
		came <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, status.FromContextError(ctx.Err()).Err()
	}}
	l := begin(t, f, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-came
		cancel()
	}()
	if _, err := l.runtime().RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: web}); status.Code(err) != codes.Canceled {
		t.Errorf("canceled: %v", err)
	}
	<-ended

	arrived := false
	for limit := 2 * time.Second; !arrived && limit < 2*time.Minute; limit *= 2 { // on a busy machine, a call may not arrive within that
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		if _, err := l.runtime().RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: web}); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("too late: %v", err)
		}
		cancel()
		select {
		case <-came:
			<-ended
			arrived = true
		default:
		}
	}
	if !arrived {
		t.Error("no call with a deadline arrived")
	}

	forwarded := make(chan struct{}, 1)
	l = begin(t, &fake{run: func(context.Context, *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
		forwarded <- struct{}{}
		return &runtimeapi.RunPodSandboxResponse{}, nil
	}}, nil) // to the other one, an earlier call may be on its way
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if _, _, err := l.proxy.open(late, "/runtime.v1.RuntimeService/RunPodSandbox", &grpc.StreamDesc{}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a deadline that has passed: %v", err)
	}
	select {
	case <-forwarded:
		t.Error("a call whose deadline had passed was forwarded")
	default:
	}
}

// Messages of nearly 16 MiB come through, larger ones fail as without a proxy.
func TestLarge(t *testing.T) {
	f := &fake{exec: func(_ context.Context, r *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
		if r.GetContainerId() == "too-much" {
			return &runtimeapi.ExecSyncResponse{Stdout: make([]byte, maxMessage+1)}, nil
		}
		return &runtimeapi.ExecSyncResponse{Stdout: []byte(r.GetCmd()[0])}, nil
	}}
	l := begin(t, f, nil)
	big := string(bytes.Repeat([]byte("x"), maxMessage-1024))
	for range 3 {
		r, err := l.runtime().ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{ContainerId: "c", Cmd: []string{big}})
		fail(t, err)
		if string(r.GetStdout()) != big {
			t.Fatalf("%d bytes came back", len(r.GetStdout()))
		}
	}
	for name, conn := range map[string]*grpc.ClientConn{"through the proxy": l.conn, "direct": l.direct} {
		c := runtimeapi.NewRuntimeServiceClient(conn)
		_, err := c.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{Cmd: []string{big + big}})
		_, err2 := c.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{ContainerId: "too-much"})
		if status.Code(err) != codes.ResourceExhausted || status.Code(err2) != codes.ResourceExhausted {
			t.Errorf("%s: %v, %v", name, err, err2)
		}
	}
}

// Events come as they are sent, and the stream's end with its status.
func TestServerStream(t *testing.T) {
	next := make(chan string)
	f := &fake{watch: func(s grpc.ServerStreamingServer[runtimeapi.ContainerEventResponse]) error {
		if err := s.SendHeader(metadata.Pairs("head", "h1")); err != nil {
			return err
		}
		for id := range next {
			if err := s.Send(&runtimeapi.ContainerEventResponse{ContainerId: id}); err != nil {
				return err
			}
		}
		s.SetTrailer(metadata.Pairs("tail", "t1"))
		return status.Error(codes.Aborted, "enough")
	}}
	l := begin(t, f, nil)
	s, err := l.runtime().GetContainerEvents(t.Context(), &runtimeapi.GetEventsRequest{})
	fail(t, err)
	h, err := s.Header() // before any message
	fail(t, err)
	if h.Get("head")[0] != "h1" {
		t.Errorf("header %v", h)
	}
	for _, id := range []string{"a", "b"} {
		next <- id
		e, err := s.Recv()
		fail(t, err)
		if e.GetContainerId() != id {
			t.Errorf("event %v, want %s", e, id)
		}
	}
	close(next)
	if _, err := s.Recv(); status.Code(err) != codes.Aborted || s.Trailer().Get("tail")[0] != "t1" {
		t.Errorf("%v, trailer %v", err, s.Trailer())
	}
	var n int
	for _, r := range l.records(t) {
		if e, ok := r.Event.(*trace.CRICall); ok && e.Method == "GetContainerEvents" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d records of the opening, want its begin and end", n)
	}
}

// echo answers each message of a service that nobody knows, and says at the client's half-close how many there were.
func echo(_ any, s grpc.ServerStream) error {
	n := int32(0)
	for {
		var m wrapperspb.StringValue
		switch err := s.RecvMsg(&m); {
		case errors.Is(err, io.EOF):
			return s.SendMsg(wrapperspb.String(string(rune('0' + n))))
		case err != nil:
			return err
		}
		n++
		if err := s.SendMsg(&m); err != nil {
			return err
		}
	}
}

// A service that this program does not know is relayed, in both directions at once.
func TestUnknownService(t *testing.T) {
	l := begin(t, &fake{}, nil, func(s *grpc.Server) {
		s.RegisterService(&grpc.ServiceDesc{ServiceName: "some.Other", Streams: []grpc.StreamDesc{{StreamName: "Talk", Handler: echo, ClientStreams: true, ServerStreams: true}}}, nil)
	})
	s, err := l.conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/some.Other/Talk")
	fail(t, err)
	for _, text := range []string{"", "one", string(bytes.Repeat([]byte("y"), 1<<20))} {
		fail(t, s.SendMsg(wrapperspb.String(text)))
		var m wrapperspb.StringValue
		fail(t, s.RecvMsg(&m))
		if m.GetValue() != text {
			t.Errorf("%d bytes came back of %d", len(m.GetValue()), len(text))
		}
	}
	fail(t, s.CloseSend())
	var m wrapperspb.StringValue
	fail(t, s.RecvMsg(&m))
	if m.GetValue() != "3" {
		t.Errorf("at the half-close: %s", m.GetValue())
	}
	if err := s.RecvMsg(&m); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	for _, r := range l.records(t) {
		t.Errorf("published %T", r.Event)
	}
	err = l.conn.Invoke(t.Context(), "/runtime.v1.RuntimeService/NotYet", wrapperspb.String("a"), &m)
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("a method of a later version: %v", err)
	}
}

// The proxy's end lets calls finish, and ends streams of events.
func TestDrain(t *testing.T) {
	came, let := make(chan struct{}), make(chan struct{})
	f := &fake{run: func(context.Context, *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
		close(came)
		<-let
		return &runtimeapi.RunPodSandboxResponse{PodSandboxId: "s"}, nil
	}}
	f.watch = func(s grpc.ServerStreamingServer[runtimeapi.ContainerEventResponse]) error {
		<-s.Context().Done()
		return nil
	}
	l := begin(t, f, nil)
	watch, err := l.runtime().GetContainerEvents(t.Context(), &runtimeapi.GetEventsRequest{})
	fail(t, err)
	got := make(chan error, 1)
	go func() {
		_, err := l.runtime().RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: web})
		got <- err
	}()
	<-came
	l.end()
	if _, err := watch.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the stream of events: %v", err)
	}
	select {
	case err := <-l.ended:
		t.Fatalf("ended before its call did: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(let)
	fail(t, <-got)
	fail(t, <-l.ended)
	l.end = nil
}
