package sim

import (
	"sync"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// keepEvents is how long events are kept for a first subscriber, as in containerd.
const keepEvents = 5 * time.Minute

// eventQueue passes every event to each subscriber. Publishing never waits. Without a subscriber, events are kept for
// the next one.
type eventQueue struct {
	mu   sync.Mutex
	subs map[*subscription]struct{}
	kept []*runtimeapi.ContainerEventResponse
}

type subscription struct {
	pending []*runtimeapi.ContainerEventResponse
	wake    chan struct{} // has a token while pending is not empty
}

func newEventQueue() *eventQueue {
	return &eventQueue{subs: map[*subscription]struct{}{}}
}

func (q *eventQueue) publish(e *runtimeapi.ContainerEventResponse) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.subs) == 0 {
		q.expire(e.GetCreatedAt())
		q.kept = append(q.kept, e)
		return
	}
	for sub := range q.subs {
		sub.pending = append(sub.pending, e)
		sub.signal()
	}
}

func (q *eventQueue) expire(now int64) {
	n := 0
	for n < len(q.kept) && now-q.kept[n].GetCreatedAt() > int64(keepEvents) {
		n++
	}
	q.kept = q.kept[n:]
}

func (q *eventQueue) subscribe() *subscription {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expire(time.Now().UnixNano())
	sub := &subscription{pending: q.kept, wake: make(chan struct{}, 1)}
	q.kept = nil
	if len(sub.pending) > 0 {
		sub.signal()
	}
	q.subs[sub] = struct{}{}
	return sub
}

func (q *eventQueue) unsubscribe(sub *subscription) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.subs, sub)
}

func (q *eventQueue) take(sub *subscription) []*runtimeapi.ContainerEventResponse {
	q.mu.Lock()
	defer q.mu.Unlock()
	events := sub.pending
	sub.pending = nil
	return events
}

func (s *subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// GetContainerEvents streams the events of sandboxes and containers, until the client disconnects.
func (s *Server) GetContainerEvents(_ *runtimeapi.GetEventsRequest, stream grpc.ServerStreamingServer[runtimeapi.ContainerEventResponse]) error {
	ctx := stream.Context()
	sub := s.events.subscribe()
	defer s.events.unsubscribe(sub)
	for {
		changed := s.faults.watch()
		if f := s.faults.take("GetContainerEvents", subject{}); f != nil {
			if err := f.apply(ctx); err != nil {
				return toGRPC(err)
			}
			continue
		}
		select {
		case <-ctx.Done():
			return toGRPC(ctx.Err())
		case <-changed:
		case <-sub.wake:
			for _, e := range s.events.take(sub) {
				if err := stream.Send(e); err != nil {
					return err
				}
			}
		}
	}
}

// emit publishes an event with the state of the whole pod. Callers hold the lock, so events are in order.
func (s *Server) emit(kind runtimeapi.ContainerEventType, id string, sb *sandbox) {
	e := &runtimeapi.ContainerEventResponse{
		ContainerId:        id,
		ContainerEventType: kind,
		CreatedAt:          time.Now().UnixNano(),
		ContainersStatuses: []*runtimeapi.ContainerStatus{},
	}
	if s.sandboxes[sb.id] == sb {
		e.PodSandboxStatus = sb.status()
	}
	for _, c := range sb.sortedContainers() {
		e.ContainersStatuses = append(e.ContainersStatuses, s.containerStatus(c))
	}
	s.events.publish(e)
}
