package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

const (
	setupLimit   = 30 * time.Minute // the first time, containerd is built
	showLimit    = 3 * time.Minute
	cleanupLimit = 2 * time.Minute
)

type options struct {
	runtime  string
	bin      string
	labDir   string
	terminal bool
	out      io.Writer // events
	log      io.Writer // what the demo itself does
}

func run(ctx context.Context, o options) (err error) {
	use, why, err := chooseHere(o.runtime)
	if err != nil {
		return err
	}
	o.announce(use, why)
	d, err := setup(ctx, o, use)
	if d != nil {
		defer func() { err = errors.Join(err, d.close()) }()
	}
	if err != nil {
		if use == containerd && ctx.Err() == nil {
			err = fmt.Errorf("%w\n  without a lab: go run ./test/demo -runtime sim", err)
		}
		return err
	}
	if o.terminal {
		return d.watch(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, showLimit, fmt.Errorf("the pods have not come and gone within %s", showLimit))
	defer cancel()
	return d.show(ctx, o.out)
}

// announce says what is going to happen.
func (o options) announce(use, why string) {
	if why != "" {
		o.say("%s: this demo uses the simulated runtime", why)
	}
	if use == sim {
		o.say("kubeloupe demo: the agent on a simulated runtime with %d sample pods; no container runs", len(samples()))
		return
	}
	o.say("kubeloupe demo: the agent on a private containerd %s with %d sample pods; all of it is removed at the end", strings.TrimPrefix(lab.ContainerdVersion, "v"), len(samples()))
	if cache, err := lab.Cache(); err == nil {
		if _, err := os.Stat(filepath.Join(cache, "containerd", lab.ContainerdVersion)); err != nil {
			o.say("containerd, runc, the CNI plugins and some images are built first: some minutes, once; they stay in %s", cache)
			o.say("the Debian packages libseccomp-dev, busybox-static and iptables are installed if they are missing")
		} else {
			o.say("containerd, runc, the CNI plugins and the images come from %s", cache)
		}
	}
}

func (o options) say(format string, args ...any) {
	fmt.Fprintf(o.log, format+"\n", args...) //nolint:errcheck // there is nowhere else to say it
}

// demo is what a run has made.
type demo struct {
	options
	dir       string   // all but the lab
	lab       *lab.Lab // nil: simulated
	manifests string
	vars      map[string]string
}

// setup makes everything but the pods. What it returns with an error is to be closed too.
func setup(ctx context.Context, o options, use string) (*demo, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, setupLimit, fmt.Errorf("not set up within %s", setupLimit))
	defer cancel()
	if o.bin == "" {
		o.say("building bin/kubeloupe (the first time, that compiles the Kubernetes API libraries)")
		bin, err := build(ctx)
		if err != nil {
			return nil, err
		}
		o.bin = bin
	}
	dir, err := os.MkdirTemp("", "kubeloupe-demo-")
	if err != nil {
		return nil, err
	}
	d := &demo{options: o, dir: dir, manifests: filepath.Join(dir, "manifests"), vars: simVars()}
	for _, name := range []string{d.manifests, d.scratch(), d.logs()} {
		if err := os.MkdirAll(name, 0o755); err != nil {
			return d, err
		}
	}
	if use == containerd {
		if err := d.up(ctx); err != nil {
			return d, err
		}
	}
	d.vars["SCRATCH"] = d.scratch()
	if d.vars["HOST_PORT"], err = freePort(ctx); err != nil {
		return d, err
	}
	return d, d.writeConfig()
}

// up starts the lab, or finds one that nobody uses.
func (d *demo) up(ctx context.Context) error {
	at := d.labDir
	if at == "" {
		at = filepath.Join(d.dir, "lab")
	}
	l, err := lab.Up(ctx, lab.Config{Dir: at, Log: d.log})
	if err != nil {
		return err
	}
	d.lab = l
	d.vars = labVars(l)
	if !l.Existing {
		d.say("the lab is up: containerd at %s, registry at %s, held to %d MiB/s", l.RuntimeEndpoint, l.Registry, pullRate>>20)
		return l.SetLimits(ctx, lab.Limits{Rate: pullRate})
	}
	d.say("using the lab in %s, which was up already and stays", l.Dir)
	n, err := sandboxes(ctx, l)
	if err == nil && n > 0 {
		d.lab = nil // not ours to clean
		return fmt.Errorf("the lab in %s has %d pods, which the demo's agent would end: give another LAB_DIR, or none", l.Dir, n)
	}
	return err
}

// build builds the agent as `make build` does and returns its path.
func build(ctx context.Context) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	dir := strings.TrimSpace(string(root))
	cmd := exec.CommandContext(ctx, "make", "-s", "--no-print-directory", "build")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make build: %w\n%s", err, out)
	}
	return filepath.Join(dir, "bin", "kubeloupe"), nil
}

// close removes what the run made. It has time of its own: a signal is why it may run.
func (d *demo) close() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), cleanupLimit, fmt.Errorf("not cleaned up within %s", cleanupLimit))
	defer cancel()
	var errs []error
	if d.lab != nil {
		errs = append(errs, d.sweep(ctx))
		if !d.lab.Existing {
			errs = append(errs, d.lab.Down(ctx))
		}
	}
	errs = append(errs, unmountBelow(d.dir), os.RemoveAll(d.dir))
	err := errors.Join(errs...)
	switch {
	case err != nil:
		return fmt.Errorf("clean up: %w", err)
	case d.lab != nil && d.lab.Existing:
		d.say("the pods are gone; the lab in %s is still up", d.lab.Dir)
	case d.lab != nil:
		d.say("the pods and the lab are gone")
	}
	return nil
}
