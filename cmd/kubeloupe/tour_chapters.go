package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// chapter is a part of the tour. Each causes what it needs of those before it.
type chapter struct {
	title string
	show  func(t *tour, ctx context.Context) error
}

func tourChapters() []chapter {
	return []chapter{
		{"A static pod appears", (*tour).appears},
		{"How long each phase took", (*tour).traced},
		{"Step a pod", (*tour).stepped},
		{"The pod network breaks", (*tour).breaks},
		{"Why", (*tour).explained},
		{"Fix it", (*tour).mended},
		{"Image garbage collection", (*tour).collected},
		{"Next steps", (*tour).goOn},
	}
}

func (t *tour) appears(ctx context.Context) error {
	t.prose("A file in the manifest directory is a pod, and the agent notices it immediately. The lines below show the pod's events until it is ready: " +
		"time, duration, pod, event. Events without a significant duration are omitted; -o json prints every record.")
	if err := t.put("web"); err != nil {
		return err
	}
	t.say("\n$ cat " + t.file("web") + "\n" + strings.TrimSuffix(t.manifest("web"), "\n"))
	if err := t.follow(ctx, events("web"), " ready after "); err != nil {
		return err
	}
	t.say("")
	t.prose("The UI shows the same for the whole node, live:")
	t.say("\n" + t.typed("tui"))
	return nil
}

func (t *tour) traced(ctx context.Context) error {
	if err := t.have(ctx, "web"); err != nil {
		return err
	}
	t.prose("The waterfall of this start shows each action, the calls to the runtime below it, and the critical path, which is the chain of " +
		"actions that determined the total time. The floor is the time that the runtime itself needed; the rest is the agent's work or a wait.")
	return t.kubeloupe(ctx, "trace", ref("web"))
}

func (t *tour) stepped(ctx context.Context) error {
	t.prose("step can pause a pod before each action, while the rest of the node continues. Here it waits for a pod that does not exist yet. " +
		"until continues to an action, p prints the next request to the runtime, n sends it, and q quits; the pod then continues. " +
		"Each stop shows what changed on the node.")
	args := []string{"step", "--pod", ref("db"), "--creation"}
	t.say("\n" + t.typed(args...))
	in := &typist{ctx: ctx, t: t, lines: []string{"until sandbox", "p", "n", "n", "q"}}
	stepping, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer cancel()
		done <- t.run(stepping, streams{in: in, out: t.s.out, err: t.s.err}, args...)
	}()
	err := t.until(stepping, "step is there", func(context.Context) (bool, error) { return t.node.gate.Holds(podOf("db")), nil })
	if err == nil {
		err = t.put("db")
	}
	if err != nil {
		cancel()
		return errors.Join(err, <-done)
	}
	if err := <-done; err != nil {
		return err
	}
	if in.left.Load() {
		return errLeft
	}
	return ctx.Err()
}

func (t *tour) breaks(ctx context.Context) error {
	t.prose("The runtime calls CNI plugins to set up a pod's network. The tour now " + t.net.told() + ", and adds a pod. " +
		"Running pods keep their network; the new pod gets none:")
	if err := t.breakNetwork(ctx); err != nil {
		return err
	}
	if err := t.put("api"); err != nil {
		return err
	}
	return t.follow(ctx, events("api"), troubled...)
}

// troubled are words of a pod that gets no network: it failed and waits, or is not tried.
var troubled = []string{"waits: backoff", "NetworkNotReady"} //nolint:gochecknoglobals // a constant table

// broken causes what the chapters after the break are about.
func (t *tour) broken(ctx context.Context) error {
	if t.began["api"] {
		return nil
	}
	if err := t.have(ctx, "web"); err != nil { // with its image: the network alone is in the way
		return err
	}
	if err := t.breakNetwork(ctx); err != nil {
		return err
	}
	if err := t.put("api"); err != nil {
		return err
	}
	return t.await(ctx, io.Discard, events("api"), troubled...)
}

func (t *tour) explained(ctx context.Context) error {
	if err := t.broken(ctx); err != nil {
		return err
	}
	t.prose("why explains one pod: what it is waiting for, since when, and what happens next. Then it lists the causes, each with its evidence, " +
		"a remedy, and a way to rule it out. The ids of causes are stable, so scripts can use them: why --fail-on KL07 exits with status 3.")
	return t.kubeloupe(ctx, "why", ref("api"))
}

func (t *tour) mended(ctx context.Context) error {
	if err := t.broken(ctx); err != nil {
		return err
	}
	t.prose("The network is fixed. The agent is not notified: it retries, and while the runtime reports that it has no network, it checks every second. The lines show actions and milestones only:")
	if err := t.net.mend(); err != nil {
		return err
	}
	if err := t.follow(ctx, milestones("api"), " ready after "); err != nil {
		return err
	}
	t.say("")
	t.prose("This start in one line, together with the other starts:")
	return t.kubeloupe(ctx, "why", "--all")
}

func (t *tour) collected(ctx context.Context) error {
	for _, pod := range []string{"web", "db"} {
		if err := t.have(ctx, pod); err != nil {
			return err
		}
	}
	t.prose("By default, images are removed when the disk is 85 % full, the least recently used first. Here the tour requests the removal of all unused images " +
		"twice: now, and after the pod db is removed, the only user of " + t.opt.other + ".")
	if n := len(t.foreign); n > 0 && !t.opt.removeAll {
		t.say("")
		t.prose(fmt.Sprintf("This is skipped, because it would also remove images that the tour did not pull (%d, such as %s). --remove-unused-images allows it.", n, t.foreign[0]))
		return t.kubeloupe(ctx, "inspect", "images")
	}
	if _, err := t.node.agent.DeleteUnusedImages(ctx); err != nil {
		return err
	}
	if err := t.remove("db"); err != nil {
		return err
	}
	if err := t.follow(ctx, milestones("db"), " gone"); err != nil {
		return err
	}
	if _, err := t.node.agent.DeleteUnusedImages(ctx); err != nil {
		return err
	}
	t.say("")
	t.prose("Each decision has a reason, also for images that are kept:")
	return t.kubeloupe(ctx, "inspect", "gc")
}

func (t *tour) goOn(ctx context.Context) error {
	t.prose("You can use this node until the tour ends. Its manifests are in " + t.manifests() + ". Try these commands in another terminal:")
	t.say("")
	for _, args := range [][]string{{"tui"}, {"inspect", "pods"}, {"inspect", "cri"}, {"step", "--pod", ref("web"), "--deletion"}, {"record", "tour.klr"}} {
		t.say(t.typed(args...))
	}
	t.say("$ " + t.opt.name + " replay tour.klr\n")
	t.prose("To run your own node: " + t.opt.name + " run --pod-manifest-path DIR, or --kubeconfig FILE in a cluster. docs/ describes the commands, and docs/causes/ the causes.")
	return t.keys.goOn(ctx, "Press Enter to end the tour, b to go back: ")
}
