package podruntime

import (
	"context"
	"fmt"
	"sync"

	"github.com/kubeloupe/kubeloupe/agent/semaphore"
	"github.com/kubeloupe/kubeloupe/trace"
)

// lease is a pod's slot for runtime work. It spans the pod's consecutive runtime steps, so that one pod is finished
// before the next begins. The pod releases it while it waits for something else, such as a pull. A step that takes much
// longer than usual loses the slot and continues; the next step queues again.
type lease struct {
	slots *semaphore.Slots
	bus   *trace.Bus

	mu     sync.Mutex
	turn   semaphore.Turn
	place  *semaphore.Place
	tasks  map[*task]struct{}
	taking chan struct{} // closed when the step that waits for the slot has got it or given up
	stayed bool          // it overstayed at least once
}

// task is a running step.
type task struct {
	lease *lease
	kind  string
	work  *semaphore.Work // nil while the slot is released
	cut   bool            // its duration is not meaningful: the slot was released meanwhile
}

// grows marks the following work as large and releases the slot: large work has its own queue.
func (l *lease) grows() {
	l.mu.Lock()
	known := l.turn.Large
	l.turn.Large = true
	l.mu.Unlock()
	if !known {
		l.drop()
	}
}

// large reports whether the pod's work is large.
func (l *lease) large() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.turn.Large
}

// begin returns when the pod holds a slot for a step of that kind. If several steps begin at once, one queues for the
// slot and the others wait for it. The caller ends the task.
func (l *lease) begin(ctx context.Context, kind string) (*task, error) {
	t := &task{lease: l, kind: kind}
	return t, l.enter(ctx, t)
}

func (l *lease) enter(ctx context.Context, t *task) error {
	for {
		l.mu.Lock()
		if l.works(ctx, t) {
			l.mu.Unlock()
			return nil
		}
		taking := l.taking
		if taking == nil {
			l.taking = make(chan struct{})
		}
		turn := l.turn
		l.mu.Unlock()
		var err error
		if taking == nil {
			err = l.acquire(ctx, turn)
		} else {
			err = l.follow(ctx, taking)
		}
		if err != nil {
			return err
		}
	}
}

// works starts the task if there is a slot. Called with mu.
func (l *lease) works(ctx context.Context, t *task) bool {
	if l.place == nil {
		return false
	}
	work, ok := l.place.Begin(ctx, t.kind)
	if !ok {
		l.leave()
		return false
	}
	t.work = work
	if l.tasks == nil {
		l.tasks = map[*task]struct{}{}
	}
	l.tasks[t] = struct{}{}
	return true
}

func (l *lease) acquire(ctx context.Context, turn semaphore.Turn) error {
	place, err := l.slots.Acquire(ctx, turn)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.place = place
	}
	close(l.taking)
	l.taking = nil
	return err
}

func (l *lease) follow(ctx context.Context, taking <-chan struct{}) error {
	wait := trace.Wait{For: trace.WaitQueue, Target: trace.Target{Kind: trace.TargetStepSlot}}
	span := trace.Begin(l.bus, trace.FromContext(ctx), wait)
	defer func() { trace.End(l.bus, span, wait) }()
	select {
	case <-taking:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for a slot: %w", context.Cause(ctx))
	}
}

// end ends a task. The duration of a successful one is used to estimate how long such work takes.
func (t *task) end(err error) {
	l := t.lease
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.tasks, t)
	if t.work != nil {
		t.work.End(err == nil && !t.cut)
		t.work = nil
	}
}

// drop releases the slot. Running steps do not count as work until resume.
func (l *lease) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := range l.tasks {
		if t.work != nil {
			t.work.End(false)
			t.work, t.cut = nil, true
		}
	}
	l.leave()
}

// resume returns when the steps that were running before drop hold a slot again.
func (l *lease) resume(ctx context.Context) error {
	var cut []*task
	l.mu.Lock()
	for t := range l.tasks {
		if t.work == nil {
			cut = append(cut, t)
		}
	}
	l.mu.Unlock()
	for _, t := range cut {
		if err := l.enter(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// leave releases the slot if the pod still has it. A pod that overstayed is in a separate class from then on. Called
// with mu.
func (l *lease) leave() {
	if l.place == nil {
		return
	}
	if l.place.Overstayed() {
		l.stayed, l.turn.Slow = true, true
	}
	l.place.Release()
	l.place = nil
}

// overstayed reports whether the pod lost a slot because its work took too long. Call it after drop.
func (l *lease) overstayed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stayed
}
