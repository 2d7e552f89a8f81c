package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// tourOptions are the command's flags.
type tourOptions struct {
	yes        bool
	chapter    int
	runtime    string
	endpoint   string
	confDir    string
	cgroupRoot string
	image      string
	other      string
	removeAll  bool
}

func newTour(s streams) *cobra.Command {
	var o tourOptions
	c := &cobra.Command{
		Use:   "tour",
		Short: "Be led through what kubeloupe shows, chapter by chapter",
		Long: `Be led through what kubeloupe shows: a pod starts, is traced and stepped, the pod network breaks and is mended, images are
collected. An agent runs in this process; each chapter says which command it runs and shows what that prints. Enter goes on,
q leaves. Nothing of it stays.

Unless told otherwise the container runtime is simulated: no root, no real container. --runtime auto takes a real one, which
must have no pods: an agent ends pods that it does not know. There the pod network is broken by moving the files of
--cni-conf-dir aside for a moment; they are moved back at the end, also of a tour that is interrupted. Should it be killed, the
next tour moves them back.`,
		Example: `  kubeloupe tour
  kubeloupe tour --chapter 4
  kubeloupe tour --yes | less
  kubeloupe tour --runtime auto --cni-conf-dir /etc/cni/net.d`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return userError{err}
			}
			return o.run(c.Context(), s)
		},
	}
	f := c.Flags()
	f.BoolVarP(&o.yes, "yes", "y", false, "go through without asking; so it is where standard input is no terminal")
	f.IntVar(&o.chapter, "chapter", 1, "the chapter to begin with")
	f.StringVar(&o.runtime, "runtime", runtimeSim, "the container runtime: sim (simulated in memory) or auto (a CRI socket)")
	f.StringVar(&o.endpoint, "container-runtime-endpoint", "", "with --runtime auto: the runtime's socket, if it is not where runtimes have theirs")
	f.StringVar(&o.confDir, "cni-conf-dir", "", "with --runtime auto: where the runtime has its CNI configuration, which is moved aside for a moment")
	f.StringVar(&o.cgroupRoot, "cgroup-root", "", "with --runtime auto: the cgroup for the pods; unless given, one of the tour's own")
	f.StringVar(&o.image, "image", "busybox:1.37", "the image of the pods; it needs sh and sleep")
	f.StringVar(&o.other, "other-image", "alpine:3.22", "the image of the pod that goes, and which then goes too")
	f.BoolVar(&o.removeAll, "remove-unused-images", false, "with --runtime auto: remove images that no container uses although they are not the tour's")
	f.SortFlags = false
	return c
}

func (o *tourOptions) check() error {
	var errs []error
	if n := len(tourChapters()); o.chapter < 1 || o.chapter > n {
		errs = append(errs, fmt.Errorf("--chapter %d: want 1 to %d", o.chapter, n))
	}
	if o.image == "" || o.other == "" || o.image == o.other {
		errs = append(errs, errors.New("--image, --other-image: want two different images"))
	}
	switch o.runtime {
	case runtimeSim:
		if o.endpoint != "" || o.confDir != "" || o.cgroupRoot != "" || o.removeAll {
			errs = append(errs, errors.New("--container-runtime-endpoint, --cni-conf-dir, --cgroup-root and --remove-unused-images go with --runtime auto"))
		}
	case runtimeAuto:
		if o.confDir == "" {
			errs = append(errs, errors.New("--runtime auto: the tour breaks the pod network by moving the runtime's CNI configuration aside for a moment: "+
				"say where that is, with --cni-conf-dir (mostly /etc/cni/net.d), or leave out --runtime for a simulated one"))
		}
	default:
		errs = append(errs, fmt.Errorf("--runtime %q: want sim or auto", o.runtime))
	}
	return errors.Join(errs...)
}

// run makes the tour's own directory and node, and goes through it. The agent ends after the tour, not with
// the person: it has pods to end first.
func (o *tourOptions) run(ctx context.Context, s streams) error {
	dir, err := os.MkdirTemp("", "kubeloupe-tour-")
	if err != nil {
		return fmt.Errorf("directory for the tour: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory: the system tidies up too
	t := &tour{s: s, opt: *o, dir: dir, socket: filepath.Join(dir, "s"), began: map[string]bool{}}
	if err := t.build(ctx); err != nil {
		return err
	}
	t.keys = newKeys(s, o.yes)
	signal.Ignore(syscall.SIGPIPE) // a pager that is left must not leave the network broken; its command fails
	defer signal.Reset(syscall.SIGPIPE)
	err = t.node.run(context.WithoutCancel(ctx), func(agent context.Context) error {
		return t.guide(ctx, agent)
	})
	return errors.Join(err, t.removeCgroups())
}

// errLeft says that the person had enough.
var errLeft = errors.New("left")

// guide goes from chapter to chapter and takes away all that the tour brought, whatever became of it.
func (t *tour) guide(person, agent context.Context) (err error) {
	ctx, cancel := context.WithCancel(agent)
	defer cancel()
	defer context.AfterFunc(person, cancel)()
	defer t.net.mend() //nolint:errcheck // only a panic comes here before end, which says it
	err = t.chapters(ctx)
	if person.Err() != nil {
		t.say("\nInterrupted.")
	}
	if errors.Is(err, errLeft) || person.Err() != nil {
		err = nil
	}
	t.say("\nTaking away what the tour brought ...")
	if e := t.end(agent); e != nil {
		return errors.Join(err, e)
	}
	t.say("Its pods and files are gone.")
	return err
}

func (t *tour) chapters(ctx context.Context) error {
	select {
	case <-t.node.agent.Ready():
	case <-ctx.Done():
		return ctx.Err()
	}
	all := tourChapters()
	t.prose(t.welcome())
	for i := t.opt.chapter - 1; i < len(all); i++ {
		if err := t.keys.goOn(ctx, t.s.out, "Enter goes on, q leaves: "); err != nil {
			return err
		}
		title := fmt.Sprintf("%d of %d  %s", i+1, len(all), all[i].title)
		t.say("\n" + title + "\n" + strings.Repeat("-", len(title)) + "\n")
		if err := all[i].show(t, ctx); err != nil {
			return err
		}
	}
	return nil
}
