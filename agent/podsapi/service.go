package podsapi

import (
	"cmp"
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// Upstream: pkg/kubelet/apis/pods/constants.go.
const (
	// Socket is the name of the socket in ROOT/pods-api.
	Socket = "pods-api.sock"
	// QPS is how many requests there may be in a second, Burst how many at once.
	QPS = 100
	// Burst belongs to QPS.
	Burst = 10
)

// Pods are the pods of the node.
type Pods interface {
	// Pods returns copies of all pods, with their statuses.
	Pods() []v1.Pod
	// Copy returns a copy of one pod with its status, nil if there is none.
	Copy(uid types.UID) *v1.Pod
}

// Service answers the pods API, version v1alpha1. Safe for concurrent use.
type Service struct {
	api.UnimplementedPodsServer
	pods     Pods
	complete func() bool
	watchers *Watchers
}

// New returns a Service. The watchers must receive the changes of the pods. complete reports whether all sources of pods have reported;
// before that, it answers nothing.
func New(pods Pods, watchers *Watchers, complete func() bool) (*Service, error) {
	if pods == nil || watchers == nil || complete == nil {
		return nil, errors.New("podsapi: New needs pods, watchers and complete")
	}
	return &Service{pods: pods, watchers: watchers, complete: complete}, nil
}

func (s *Service) ready() error {
	if !s.complete() {
		return status.Error(codes.FailedPrecondition, "Kubelet is initializing")
	}
	return nil
}

// ListPods returns all pods.
func (s *Service) ListPods(context.Context, *api.ListPodsRequest) (*api.ListPodsResponse, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	out := &api.ListPodsResponse{}
	for _, pod := range s.sorted() {
		text, err := encode(&pod)
		if err != nil {
			return nil, err
		}
		out.Pods = append(out.Pods, text)
	}
	return out, nil
}

// GetPod returns one pod.
func (s *Service) GetPod(_ context.Context, req *api.GetPodRequest) (*api.GetPodResponse, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	pod := s.pods.Copy(types.UID(req.GetPodUID()))
	if pod == nil {
		return nil, status.Errorf(codes.NotFound, "pod with UID %s not found", req.GetPodUID())
	}
	text, err := encode(pod)
	if err != nil {
		return nil, err
	}
	return &api.GetPodResponse{Pod: text}, nil
}

// sorted returns all pods by UID.
func (s *Service) sorted() []v1.Pod {
	all := s.pods.Pods()
	sorting.Stable(all, func(a, b *v1.Pod) int { return cmp.Compare(a.UID, b.UID) })
	return all
}

// encode returns a pod as the API has it. A pod without a status is Pending.
//
// Upstream: pkg/kubelet/apis/pods/server.go, getEffectivePodStatus.
func encode(pod *v1.Pod) ([]byte, error) {
	if pod.Status.Phase == "" {
		pod.Status.Phase = v1.PodPending
	}
	text, err := pod.Marshal()
	if err != nil {
		return nil, status.Errorf(codes.Internal, "failed to marshal pod: %v", err)
	}
	return text, nil
}

// WatchPods sends all pods, then what changes.
func (s *Service) WatchPods(_ *api.WatchPodsRequest, stream grpc.ServerStreamingServer[api.WatchPodsEvent]) error {
	if err := s.ready(); err != nil {
		return err
	}
	w := s.watchers.join()
	defer s.watchers.leave(w)
	for _, pod := range s.sorted() {
		if err := w.send(stream, &pod); err != nil {
			return err
		}
	}
	if err := stream.Send(&api.WatchPodsEvent{Type: api.EventType_INITIAL_SYNC_COMPLETE}); err != nil {
		return err
	}
	for {
		select {
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-w.more:
		}
		for _, uid := range w.take() {
			if err := s.sendOne(stream, w, uid); err != nil {
				return err
			}
		}
	}
}

// sendOne sends the newest version of a pod, or that it is gone.
func (s *Service) sendOne(stream grpc.ServerStreamingServer[api.WatchPodsEvent], w *watcher, uid types.UID) error {
	if pod := s.pods.Copy(uid); pod != nil {
		return w.send(stream, pod)
	}
	return w.gone(stream, uid)
}
