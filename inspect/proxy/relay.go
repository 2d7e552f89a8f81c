package proxy

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// answerTime is how long the runtime may take to hand over an answer to ExecSync that it has begun: others wait for it.
const answerTime = time.Minute

// handle relays one call.
func (p *Proxy) handle(_ any, in grpc.ServerStream) error {
	full, ok := grpc.MethodFromServerStream(in)
	if !ok {
		return status.Error(codes.Internal, "a call without a method")
	}
	m, known := p.methods[full]
	if known && m.unary {
		return p.unary(in, full, m)
	}
	if m.name == "" && strings.HasPrefix(full, prefix) {
		m.name = full[strings.LastIndexByte(full, '/')+1:]
	}
	return p.stream(in, full, m)
}

// unary relays a call of the CRI with one request and one answer, as often as a person who steps the pod will have it.
func (p *Proxy) unary(in grpc.ServerStream, full string, m method) error {
	var request frame
	if err := in.RecvMsg(&request); err != nil {
		return err
	}
	defer request.free()
	c := p.observe(in.Context(), m, &request)
	for n := 1; ; n++ {
		again, err := p.try(in, full, c, &request, n)
		if !again {
			return err
		}
	}
}

// try forwards the request once, and the answer if that is what is wanted.
func (p *Proxy) try(in grpc.ServerStream, full string, c *call, request *frame, n int) (again bool, err error) {
	ctx := in.Context()
	c.begin(n)
	if err := c.before(ctx); err != nil {
		c.end(nil, err)
		return c.after(ctx, err), err
	}
	answer := &frame{}
	header, trailer, err := p.ask(c.forward(ctx), full, request, answer)
	defer answer.free()
	if err != nil || c.action.Verb != "" || !p.beside(c, answer) {
		c.end(answer, err)
	}
	if c.after(ctx, err) {
		return true, nil
	}
	in.SetHeader(header) //nolint:errcheck // where the kubelet is gone nobody needs it
	in.SetTrailer(trailer)
	if err != nil {
		return false, err
	}
	return false, in.SendMsg(answer)
}

// besides is how many answers are described at a time beside their calls.
const besides = 16

// describeAfter is how long after an answer it is described: at once, that would compete with the answer for the processors.
const describeAfter = time.Millisecond

// beside describes an answer while it is on its way to the kubelet, which asks much and often: to decode a status and to take what is
// secret out of it takes longer than to relay it. It is false when many are described already. The record then says how much later it was
// made than the answer came.
func (p *Proxy) beside(c *call, answer *frame) bool {
	select {
	case p.describing <- struct{}{}:
	default:
		return false
	}
	own := &frame{data: answer.data}
	own.data.Ref()
	came := time.Now()
	p.described.Add(1)
	time.AfterFunc(describeAfter, func() {
		defer p.described.Done()
		defer func() { <-p.describing }()
		defer own.free()
		c.came = came
		c.end(own, nil)
	})
	return true
}

// ask has the runtime answer a request.
func (p *Proxy) ask(ctx context.Context, full string, request, answer *frame) (header, trailer metadata.MD, err error) {
	out, stop, err := p.open(ctx, full, &grpc.StreamDesc{})
	defer stop()
	if err != nil {
		return nil, nil, err
	}
	if err := out.SendMsg(request); err != nil && !errors.Is(err, io.EOF) { // EOF: RecvMsg has the reason
		return nil, out.Trailer(), err
	}
	if header, err = out.Header(); err != nil {
		return nil, out.Trailer(), err
	}
	if strings.HasSuffix(full, execSync) {
		done, err := p.turn(ctx, stop)
		defer done()
		if err != nil {
			return header, nil, err
		}
	}
	err = out.RecvMsg(answer)
	return header, out.Trailer(), err
}

// execSync is the method whose answers a container makes.
const execSync = "/ExecSync"

// events is the method whose stream has no end.
const events = "GetContainerEvents"

// turn waits for a turn at an answer that a container made, of up to 16 MiB.
func (p *Proxy) turn(ctx context.Context, stop func()) (done func(), err error) {
	select {
	case p.turns <- struct{}{}:
	case <-ctx.Done():
		return func() {}, status.FromContextError(ctx.Err()).Err()
	}
	late := time.AfterFunc(answerTime, stop)
	return func() {
		late.Stop()
		<-p.turns
	}, nil
}

// open begins the call to the runtime. Where the deadline has passed there is none.
func (p *Proxy) open(ctx context.Context, full string, desc *grpc.StreamDesc) (grpc.ClientStream, context.CancelFunc, error) {
	ctx, stop := context.WithCancel(ctx)
	if err := expired(ctx); err != nil {
		return nil, stop, err
	}
	out, err := p.conn.NewStream(ctx, desc, full)
	return out, stop, err
}

// expired is the error of a call whose deadline has passed, or which nobody wants any more.
func expired(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	if at, ok := ctx.Deadline(); ok && !time.Now().Before(at) {
		return status.FromContextError(context.DeadlineExceeded).Err()
	}
	return nil
}

// stream relays a call on which either side may send, and what is not known.
func (p *Proxy) stream(in grpc.ServerStream, full string, m method) error {
	c := p.observe(in.Context(), m, nil)
	out, stop, err := p.open(c.forward(in.Context()), full, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true})
	defer stop()
	if err != nil {
		c.end(nil, err)
		return err
	}
	if m.name == events {
		defer context.AfterFunc(p.ending, stop)()
	}
	go func() { // it ends with the call: then there is nothing more to receive
		if copyUp(in, out) != nil {
			stop()
		}
	}()
	header, err := out.Header()
	if err == nil && header != nil {
		c.end(nil, nil)
		if err := in.SendHeader(header); err != nil {
			return err
		}
	}
	err = copyDown(in, out)
	if m.name == events && p.ending.Err() != nil {
		err = status.Error(codes.Unavailable, "the proxy ends")
	}
	c.end(nil, err)
	in.SetTrailer(out.Trailer())
	return err
}

// copyUp relays what the kubelet sends.
func copyUp(in grpc.ServerStream, out grpc.ClientStream) error {
	for {
		var f frame
		switch err := in.RecvMsg(&f); {
		case errors.Is(err, io.EOF):
			return out.CloseSend()
		case err != nil:
			return err
		}
		err := out.SendMsg(&f)
		f.free()
		if err != nil {
			return nil //nolint:nilerr // the runtime has ended the call, and its status is read by copyDown
		}
	}
}

// copyDown relays what the runtime sends. It returns the call's status.
func copyDown(in grpc.ServerStream, out grpc.ClientStream) error {
	for {
		var f frame
		switch err := out.RecvMsg(&f); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		err := in.SendMsg(&f)
		f.free()
		if err != nil {
			return err
		}
	}
}

// forwarded returns a context for the call to the runtime: the kubelet's deadline, cancellation and metadata, and a traceparent where it
// sent none.
func forwarded(ctx context.Context, traceparent string) context.Context {
	md, _ := metadata.FromIncomingContext(ctx)
	md = md.Copy()
	if md == nil {
		md = metadata.MD{}
	}
	if traceparent != "" && len(md.Get("traceparent")) == 0 {
		md.Set("traceparent", traceparent)
	}
	return metadata.NewOutgoingContext(ctx, md)
}
