package containerdprogress

import (
	"context"
	"time"

	"github.com/containerd/containerd/api/services/content/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// namespace is the namespace of containerd's CRI plugin.
	namespace = "k8s.io"
	// every is how often the content store is read during a pull: a little less often than agent/image publishes
	// progress, so that no read is wasted.
	every = 275 * time.Millisecond
)

// Source reads containerd's content store. Its Follow is an image.ProgressFunc.
type Source struct {
	content content.ContentClient
	board   board
}

// New returns a Source over a connection to containerd's socket, which the caller owns.
func New(conn grpc.ClientConnInterface) *Source {
	return &Source{content: content.NewContentClient(conn)}
}

// Follow reports the progress of the pull of ref until ctx is done, or until the runtime does not support it. After
// another failure, it retries at the next interval.
func (s *Source) Follow(ctx context.Context, ref string, report func(image.Progress)) {
	p, err := newPull(s.content, &s.board, ref, time.Now())
	if err != nil {
		return // a name that cannot be parsed is not pulled
	}
	s.board.enter(p)
	defer s.board.leave(p)
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", namespace)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		switch ok, err := p.look(ctx); {
		case status.Code(err) == codes.Unimplemented:
			return
		case ok && err == nil:
			report(image.Progress{Done: p.done, Total: p.total, Source: trace.ProgressContentStore})
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
