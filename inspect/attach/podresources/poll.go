package podresources

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// often is how long it waits between two lists when something has changed, seldom when nothing has for a while, soonest when a pod came or
	// went. The kubelet permits 100 calls a second for all of its clients.
	often   = 5 * time.Second
	seldom  = 20 * time.Second
	soonest = 2 * time.Second
	// share is how much longer than a list the wait after it is at least: the kubelet works for attach 1 % of the time at most.
	share = 100
	// machineEvery is how often it asks what the node can give.
	machineEvery = 15 * time.Second
	// refused is how long it waits after the kubelet, or the limit of an answer, refused a call.
	refused = time.Minute
	// maxMessage bounds an answer: some 40,000 devices.
	maxMessage = 4 << 20
)

// Poll asks a kubelet. Use [New].
type Poll struct {
	socket   string
	deadline time.Duration // of a call
	fold     *Fold
	wake     chan struct{}

	// These are for the goroutine of Run.
	rest         bool // it was refused
	asked        time.Time
	noMachine    string // why the node's resources are not known, as it was said last
	machineAsked time.Time

	mu    sync.Mutex // of what follows
	again map[string]bool
}

// New returns a poll of the API at a unix socket, given by its path.
func New(socket string, m Machine) *Poll {
	return &Poll{socket: socket, deadline: 5 * time.Second, fold: NewFold(m), wake: make(chan struct{}, 1), again: map[string]bool{}}
}

// Move says that the socket has another path. Run must not be under way.
func (p *Poll) Move(socket string) { p.socket = socket }

// Run asks until ctx ends or the kubelet does not answer, which is an error. It can be called again: what was known before is compared with
// what the kubelet says then. put takes the records.
func (p *Poll) Run(ctx context.Context, put func(trace.Record)) error {
	conn, err := grpc.NewClient("unix://"+p.socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing is under way
	return p.run(ctx, api.NewPodResourcesListerClient(conn), put)
}

func (p *Poll) run(ctx context.Context, c api.PodResourcesListerClient, put func(trace.Record)) error {
	if p.rest {
		if !pause(ctx, refused, nil) {
			return ctx.Err()
		}
		p.rest = false
	}
	for wait := often; ; {
		began := time.Now()
		select {
		case <-p.wake: // it asks now
		default:
		}
		changed, err := p.ask(ctx, c, put)
		if err != nil {
			p.rest = status.Code(err) == codes.ResourceExhausted || status.Code(err) == codes.Unimplemented
			return errors.New(trace.Clip(err.Error(), maxError)) // the kubelet may have written it
		}
		if wait = min(wait*2, seldom); changed {
			wait = often
		}
		least := time.Since(began) * share
		if !pause(ctx, max(wait, least), p.wake) || !pause(ctx, max(soonest, least)-time.Since(began), nil) {
			return ctx.Err()
		}
	}
}

// pause waits until a time has passed, or wake says so. It reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
	case <-wake:
	}
	return ctx.Err() == nil
}

// ask asks once, and passes on what has changed.
func (p *Poll) ask(ctx context.Context, c api.PodResourcesListerClient, put func(trace.Record)) (changed bool, err error) {
	asked := time.Now()
	can := p.machine(ctx, c, put)
	ctx, cancel := context.WithTimeout(ctx, p.deadline)
	defer cancel()
	list, err := c.List(ctx, &api.ListPodResourcesRequest{})
	if err != nil {
		return false, fmt.Errorf("list the resources of pods: %w", err)
	}
	p.mu.Lock()
	again := p.again
	p.again = map[string]bool{}
	p.mu.Unlock()
	recs := p.fold.Apply(Answer{List: list, Allocatable: can, At: time.Now(), Last: p.asked, Again: again})
	p.asked = asked
	for i := range recs {
		put(recs[i])
	}
	return len(recs) > 0, nil
}

// machine asks from time to time what the node can give; nil where it did not ask, or got no answer, which is said once.
func (p *Poll) machine(ctx context.Context, c api.PodResourcesListerClient, put func(trace.Record)) *api.AllocatableResourcesResponse {
	now := time.Now()
	if !p.machineAsked.IsZero() && now.Sub(p.machineAsked) < machineEvery {
		return nil
	}
	p.machineAsked = now
	call, cancel := context.WithTimeout(ctx, p.deadline)
	defer cancel()
	can, err := c.GetAllocatableResources(call, &api.AllocatableResourcesRequest{})
	if err == nil {
		p.noMachine = ""
		return can
	}
	if text := trace.Clip(err.Error(), maxError); text != p.noMachine && ctx.Err() == nil {
		p.noMachine = text
		put(record(now, 0, trace.Pod{}, &trace.Log{
			Level: trace.LevelWarn, Message: "attach: the podresources API does not say what the node can give to containers", Attrs: []trace.KV{{K: "error", V: text}},
		}))
	}
	return nil
}

// See learns from the records of all observers that a pod came or went, so that the kubelet is asked soon. Of a pod that is gone, the readers of
// records forget what it had, also if another one of its name has it now: that is passed on again. It is safe for concurrent use.
func (p *Poll) See(r *trace.Record) (keep bool) {
	came, went := false, false
	switch e := r.Event.(type) {
	case *trace.Milestone:
		came, went = e.Name == trace.MilestoneSeen && !e.Adopted, e.Name == trace.MilestoneGone
	case *trace.Worker:
		went = e.To == trace.WorkerTerminated
	}
	if !came && !went {
		return true
	}
	if went && r.Pod.Name != "" {
		p.mu.Lock()
		if len(p.again) < maxPods {
			p.again[r.Pod.String()] = true
		}
		p.mu.Unlock()
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return true
}
