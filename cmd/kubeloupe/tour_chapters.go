package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// chapter is a part of the tour. Each brings about what it needs of those before it.
type chapter struct {
	title string
	show  func(t *tour, ctx context.Context) error
}

func tourChapters() []chapter {
	return []chapter{
		{"A static pod appears", (*tour).appears},
		{"Where the time went", (*tour).traced},
		{"Step a pod", (*tour).stepped},
		{"The pod network breaks", (*tour).breaks},
		{"Why", (*tour).explained},
		{"Mend it", (*tour).mended},
		{"Image garbage collection", (*tour).collected},
		{"Where to go on", (*tour).goOn},
	}
}

func (t *tour) appears(ctx context.Context) error {
	t.prose("A file in the manifest directory is a pod, which the agent sees at once. Below it is what the agent tells of the pod until it is ready: " +
		"when, how long it took, which pod, what happened. What takes no time worth a line is left out; -o json has every record.")
	if err := t.put("web"); err != nil {
		return err
	}
	t.say("\n$ cat " + t.file("web") + "\n" + strings.TrimSuffix(t.manifest("web"), "\n"))
	if err := t.follow(ctx, events("web"), " ready after "); err != nil {
		return err
	}
	t.say("")
	t.prose("The same, live and for the whole node, is a UI:")
	t.say("\n" + t.typed("tui"))
	return nil
}

func (t *tour) traced(ctx context.Context) error {
	if err := t.have(ctx, "web"); err != nil {
		return err
	}
	t.prose("The waterfall of that start: what was done, the calls to the runtime below, and the critical path: that which the start " +
		"waited for, end to end. The floor is what the runtime itself needed; all above it is the agent's, or a wait.")
	return t.kubeloupe(ctx, "trace", ref("web"))
}

func (t *tour) stepped(ctx context.Context) error {
	t.prose("A pod can be held before each action, while the rest of the node goes on. Here step waits for a pod that is about to come. " +
		"until goes on to an action, p prints the request that the runtime gets next, n does it, q leaves, and the pod goes on by itself. " +
		"Below each stop is what it changed on the node.")
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
	t.prose("The runtime calls CNI plugins for a pod's network. The tour now " + t.net.told() + ", and adds a pod. " +
		"Pods that run keep their network; the new one gets none:")
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

// broken brings about what the chapters after the break are about.
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
	t.prose("why answers for one pod: what it waits for now, since when, what happens next; then the named causes, each with the records that show it, " +
		"a remedy, and what would prove it wrong. Causes have ids that stay, so that a script can ask: why --fail-on KL07 ends with 3.")
	return t.kubeloupe(ctx, "why", ref("api"))
}

func (t *tour) mended(ctx context.Context) error {
	if err := t.broken(ctx); err != nil {
		return err
	}
	t.prose("The network is mended. Nobody tells the agent: it tries again by itself, and while the runtime says that it has no network it asks every second. Only actions and milestones this time:")
	if err := t.net.mend(); err != nil {
		return err
	}
	if err := t.follow(ctx, milestones("api"), " ready after "); err != nil {
		return err
	}
	t.say("")
	t.prose("Its whole start in one line, beside those of the others:")
	return t.kubeloupe(ctx, "why", "--all")
}

func (t *tour) collected(ctx context.Context) error {
	for _, pod := range []string{"web", "db"} {
		if err := t.have(ctx, pod); err != nil {
			return err
		}
	}
	t.prose("An image stays until the disk is 85 % full; then those unused for longest go. Here the tour asks for a collection of all that is unused, " +
		"twice: now, and when the pod db is removed, the only user of " + t.opt.other + ".")
	if n := len(t.foreign); n > 0 && !t.opt.removeAll {
		t.say("")
		t.prose(fmt.Sprintf("It is left out: images that were here before the tour would go too (%d, as %s). --remove-unused-images allows it.", n, t.foreign[0]))
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
	t.prose("Each verdict has its reason, for what stays too:")
	return t.kubeloupe(ctx, "inspect", "gc")
}

func (t *tour) goOn(ctx context.Context) error {
	t.prose("Until the tour ends the node is yours: its manifests are in " + t.manifests() + ". Some to try in another terminal:")
	t.say("")
	for _, args := range [][]string{{"tui"}, {"inspect", "pods"}, {"inspect", "cri"}, {"step", "--pod", ref("web"), "--deletion"}, {"record", "tour.klr"}} {
		t.say(t.typed(args...))
	}
	t.say("$ kubeloupe replay tour.klr\n")
	t.prose("A node of your own: kubeloupe run --pod-manifest-path DIR, or --kubeconfig FILE in a cluster. The commands are described in docs/, each cause in docs/causes/.")
	return t.keys.goOn(ctx, t.s.out, "Enter ends the tour: ")
}
