package containerdprogress

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/containerd/api/services/content/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// store is a content store with blobs and ingests. It accepts only containerd's namespace.
type store struct {
	content.UnimplementedContentServer

	mu      sync.Mutex
	blobs   map[string]*content.Info
	data    map[string]string
	ingests map[string]int64 // by ref
	lists   int
}

func newStore() *store {
	return &store{blobs: map[string]*content.Info{}, data: map[string]string{}, ingests: map[string]int64{}}
}

func (s *store) commit(digest, data string, at time.Time, labels map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs[digest] = &content.Info{Digest: digest, Size: int64(len(data)), CreatedAt: timestamppb.New(at), Labels: labels}
	s.data[digest] = data
	for ref := range s.ingests {
		if strings.HasSuffix(ref, digest) {
			delete(s.ingests, ref)
		}
	}
}

func (s *store) write(ref string, offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ingests[ref] = offset
}

func inNamespace(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	if ns := md.Get("containerd-namespace"); len(ns) != 1 || ns[0] != namespace {
		return status.Errorf(codes.FailedPrecondition, "namespace %q", ns)
	}
	return nil
}

func (s *store) ListStatuses(ctx context.Context, _ *content.ListStatusesRequest) (*content.ListStatusesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resp := &content.ListStatusesResponse{}
	for ref, offset := range s.ingests {
		resp.Statuses = append(resp.Statuses, &content.Status{Ref: ref, Offset: offset})
	}
	return resp, inNamespace(ctx)
}

func (s *store) Info(ctx context.Context, req *content.InfoRequest) (*content.InfoResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, ok := s.blobs[req.Digest]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "content %s", req.Digest)
	}
	return &content.InfoResponse{Info: info}, inNamespace(ctx)
}

func (s *store) List(req *content.ListContentRequest, out content.Content_ListServer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	if len(req.Filters) != 1 {
		return status.Errorf(codes.InvalidArgument, "filters %q", req.Filters)
	}
	label, ok := strings.CutPrefix(req.Filters[0], `labels."`)
	if !ok {
		return status.Errorf(codes.InvalidArgument, "filter %q", req.Filters[0])
	}
	for _, info := range s.blobs {
		if _, ok := info.Labels[strings.TrimSuffix(label, `"`)]; ok {
			if err := out.Send(&content.ListContentResponse{Info: []*content.Info{info}}); err != nil {
				return err
			}
		}
	}
	return inNamespace(out.Context())
}

func (s *store) Read(req *content.ReadContentRequest, out content.Content_ReadServer) error {
	s.mu.Lock()
	data := s.data[req.Digest]
	s.mu.Unlock()
	for chunk := range strings.SplitSeq(data, "\n") {
		if err := out.Send(&content.ReadContentResponse{Data: []byte(chunk)}); err != nil {
			return err
		}
	}
	return inNamespace(out.Context())
}

// dial serves s over an in-memory connection.
func dial(t *testing.T, s content.ContentServer) *grpc.ClientConn {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	srv := grpc.NewServer()
	if s != nil {
		content.RegisterContentServer(srv, s)
	}
	go func() { _ = srv.Serve(lis) }()
	t.Cleanup(srv.Stop)
	conn, err := grpc.NewClient("passthrough:///store",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
