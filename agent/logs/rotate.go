package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/semaphore"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Container is a running container.
type Container struct {
	ID string
	// Path is the path of its log.
	Path string
	Pod  trace.Pod
}

// Reopener is the part of the CRI that rotation needs.
type Reopener interface {
	ReopenContainerLog(context.Context, *runtimeapi.ReopenContainerLogRequest, ...grpc.CallOption) (*runtimeapi.ReopenContainerLogResponse, error)
}

// RotatorConfig is what a Rotator needs.
type RotatorConfig struct {
	// MaxSize is in bytes (containerLogMaxSize). Negative disables rotation.
	MaxSize int64
	// MaxFiles counts the log in use too; at least 2 (containerLogMaxFiles).
	MaxFiles int
	// Workers is how many logs are rotated concurrently (containerLogMaxWorkers).
	Workers int
	// Interval is the time between two checks of the sizes (containerLogMonitorInterval).
	Interval time.Duration
	// Containers returns the running containers.
	Containers func() []Container
	Runtime    Reopener
	Bus        *trace.Bus
}

// Rotator rotates the logs of running containers.
type Rotator struct {
	cfg   RotatorConfig
	turns *semaphore.Slots
	work  sync.WaitGroup

	mu   sync.Mutex
	busy map[string]bool // the IDs of containers whose logs are being rotated
}

// NewRotator checks the configuration.
func NewRotator(cfg RotatorConfig) (*Rotator, error) {
	switch {
	case cfg.MaxFiles < 2:
		return nil, fmt.Errorf("logs: containerLogMaxFiles is %d, must be at least 2", cfg.MaxFiles)
	case cfg.Workers < 1:
		return nil, fmt.Errorf("logs: containerLogMaxWorkers is %d, must be at least 1", cfg.Workers)
	case cfg.Interval <= 0:
		return nil, fmt.Errorf("logs: containerLogMonitorInterval is %s, must be more than 0", cfg.Interval)
	case cfg.Containers == nil || cfg.Runtime == nil:
		return nil, errors.New("logs: RotatorConfig.Containers or Runtime is missing")
	}
	turns, err := semaphore.New(semaphore.Config{Name: "log rotation", Size: cfg.Workers}) // without a bus: no pod waits for it
	return &Rotator{cfg: cfg, turns: turns, busy: map[string]bool{}}, err
}

// Run checks the logs now and once per interval until ctx ends, and waits for the rotations that are in progress then. A check is one
// stat per container and no call to the runtime.
func (r *Rotator) Run(ctx context.Context) error {
	if r.cfg.MaxSize < 0 {
		<-ctx.Done()
		return nil
	}
	defer r.work.Wait()
	tick := time.NewTicker(r.cfg.Interval)
	defer tick.Stop()
	for {
		r.pass(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// pass checks each log once and begins to rotate those that are too long, but not one whose earlier rotation continues.
func (r *Rotator) pass(ctx context.Context) {
	for _, c := range r.cfg.Containers() {
		if r.rotating(c.ID) {
			continue
		}
		st, err := os.Stat(c.Path)
		if missing := errors.Is(err, fs.ErrNotExist); !missing && (err != nil || st.Size() < r.cfg.MaxSize) {
			continue
		}
		// If the runtime does not respond about one, the next ones wait for only some seconds.
		work, stopped := r.turns.Enter(ctx, semaphore.Turn{Pod: c.Pod}, "rotate")
		if stopped != nil {
			return
		}
		r.set(c.ID, true)
		r.work.Go(func() {
			defer r.set(c.ID, false)
			size := int64(0)
			if err == nil {
				size = st.Size()
			}
			work.Leave(r.one(ctx, c, size, err != nil) == nil)
		})
	}
}

func (r *Rotator) rotating(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busy[id]
}

func (r *Rotator) set(id string, busy bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if busy {
		r.busy[id] = true
		return
	}
	delete(r.busy, id)
}

// one rotates a container's log or, if it is missing, calls the runtime to create it again.
//
// Upstream: pkg/kubelet/logs/container_log_manager.go, processContainer.
func (r *Rotator) one(ctx context.Context, c Container, size int64, missing bool) error {
	span := trace.ForPod(trace.FromContext(ctx), c.Pod)
	d := trace.Decision{
		By: trace.ByLogRotation, Subject: c.Path, Verdict: trace.VerdictRotate, Bytes: size,
		Reason: fmt.Sprintf("%d bytes, the log may have %d", size, r.cfg.MaxSize),
	}
	if missing {
		d.Verdict, d.Reason = trace.VerdictReopen, "the log's file is missing"
	}
	span = trace.Point(r.cfg.Bus, span, d)
	ctx = trace.ContextWith(ctx, span)
	var err error
	if missing {
		err = r.reopen(ctx, c.ID)
	} else {
		err = r.rotate(ctx, c)
	}
	if err != nil && ctx.Err() == nil {
		trace.Point(r.cfg.Bus, span, trace.Log{Level: trace.LevelError, Message: err.Error()})
	}
	return err
}

func (r *Rotator) reopen(ctx context.Context, id string) error {
	if _, err := r.cfg.Runtime.ReopenContainerLog(ctx, &runtimeapi.ReopenContainerLogRequest{ContainerId: id}); err != nil {
		return fmt.Errorf("reopen container log: %w", err)
	}
	return nil
}
