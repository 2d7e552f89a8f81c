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
	name       string // how the reader calls this program
}

func newTour(s streams) *cobra.Command {
	var o tourOptions
	c := &cobra.Command{
		Use:   "tour",
		Short: "Take a guided tour of kubeloupe",
		Long: `Take a guided tour of kubeloupe: start a pod, trace it, step through it, break and fix the pod network, and garbage-collect
images. The command runs its own agent. Each chapter names a command, runs it and shows its output, in pages that fit the
terminal. Type Enter to continue, b and Enter to go back, q and Enter to quit. At the end, the tour removes everything that it created.

By default the container runtime is simulated: no root, no real containers. --runtime auto uses a real runtime, which must have
no pods, because an agent deletes unknown pods. To break the pod network there, the tour renames the files in --cni-conf-dir
for a short time. It restores their names at the end, also if it is interrupted. If the tour is killed, the next tour restores
them.`,
		Example: `  kubeloupe tour
  kubeloupe tour --chapter 4
  kubeloupe tour --yes | less
  kubeloupe tour --runtime auto --cni-conf-dir /etc/cni/net.d`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return userError{err}
			}
			o.name = typedAs(c.Root().DisplayName(), os.Args[0])
			return o.run(c.Context(), s)
		},
	}
	f := c.Flags()
	f.BoolVarP(&o.yes, "yes", "y", false, "do not wait for Enter; this is the default if standard input is not a terminal")
	f.IntVar(&o.chapter, "chapter", 1, "start with this chapter")
	f.StringVar(&o.runtime, "runtime", runtimeSim, "the container runtime: sim (simulated in memory) or auto (a CRI socket)")
	f.StringVar(&o.endpoint, "container-runtime-endpoint", "", "with --runtime auto: the runtime's socket, if it is not at a well-known path")
	f.StringVar(&o.confDir, "cni-conf-dir", "", "with --runtime auto: directory of the runtime's CNI configuration; the tour renames its files for a short time")
	f.StringVar(&o.cgroupRoot, "cgroup-root", "", "with --runtime auto: the parent cgroup of the pods; by default, the tour creates one")
	f.StringVar(&o.image, "image", "busybox:1.37", "the image of the pods; it needs sh and sleep")
	f.StringVar(&o.other, "other-image", "alpine:3.22", "the image of the pod that is deleted; garbage collection then removes this image")
	f.BoolVar(&o.removeAll, "remove-unused-images", false, "with --runtime auto: also remove unused images that the tour did not pull")
	f.SortFlags = false
	return c
}

func (o *tourOptions) check() error {
	var errs []error
	if n := len(tourChapters()); o.chapter < 1 || o.chapter > n {
		errs = append(errs, fmt.Errorf("--chapter %d: must be 1 to %d", o.chapter, n))
	}
	if o.image == "" || o.other == "" || o.image == o.other {
		errs = append(errs, errors.New("--image and --other-image must be two different images"))
	}
	switch o.runtime {
	case runtimeSim:
		if o.endpoint != "" || o.confDir != "" || o.cgroupRoot != "" || o.removeAll {
			errs = append(errs, errors.New("--container-runtime-endpoint, --cni-conf-dir, --cgroup-root and --remove-unused-images can only be used with --runtime auto"))
		}
	case runtimeAuto:
		if o.confDir == "" {
			errs = append(errs, errors.New("--runtime auto: the tour breaks the pod network by renaming the files of the runtime's CNI configuration for a short time: "+
				"set its directory with --cni-conf-dir (usually /etc/cni/net.d), or remove --runtime to use a simulated runtime"))
		}
	default:
		errs = append(errs, fmt.Errorf("--runtime %q: must be sim or auto", o.runtime))
	}
	return errors.Join(errs...)
}

// run makes the tour's own directory and node, and goes through it. The agent ends after the tour, not with
// the person: it has pods to end first.
func (o *tourOptions) run(ctx context.Context, s streams) error {
	dir, err := tourDir()
	if err != nil {
		return fmt.Errorf("directory for the tour: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory: the system tidies up too
	t := &tour{s: s, opt: *o, dir: dir, socket: filepath.Join(dir, "s"), began: map[string]bool{}}
	if err := t.build(ctx); err != nil {
		return err
	}
	t.keys = newKeys(s, o.yes)
	t.s.out = t.keys.pages
	signal.Ignore(syscall.SIGPIPE) // a pager that is left must not leave the network broken; its command fails
	defer signal.Reset(syscall.SIGPIPE)
	err = t.node.run(context.WithoutCancel(ctx), func(agent context.Context) error {
		return t.guide(ctx, agent)
	})
	return errors.Join(err, t.removeCgroups())
}

// tourDir makes the tour's directory, with a name that is quickly typed if no other tour has it.
func tourDir() (string, error) {
	dir := filepath.Join(os.TempDir(), "kubeloupe-tour")
	if err := os.Mkdir(dir, 0o700); err == nil || !errors.Is(err, os.ErrExist) {
		return dir, err
	}
	return os.MkdirTemp("", "kubeloupe-tour-")
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
	if e := t.keys.pages.release(); e != nil {
		err = errors.Join(err, e)
	}
	t.say("\nRemoving everything that the tour created ...")
	if e := t.end(agent); e != nil {
		return errors.Join(err, e)
	}
	t.say("The tour's pods and files are removed.")
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
		if err := t.keys.goOn(ctx, "Press Enter to continue, b to go back, q to quit: "); err != nil {
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
