package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// The processes of a run on this host. The first has neither variable; it prepares directories and cgroups, and removes them. The second is
// the first process in namespaces of its own, which it furnishes. The third starts the container runtime and the tests there.
const (
	stageEnv   = "KUBELOUPE_E2E_STAGE"
	stageInit  = "init"
	stageTests = "tests"
	planEnv    = "KUBELOUPE_E2E_PLAN"
)

// plan is what the first process tells the others.
type plan struct {
	// Dir is the directory of the run, Results that of the reports and logs. Cache is the lab's, which keeps its path; Layout is there, and
	// has the images of the tests.
	Dir, Results, Cache, Layout string
	// Cgroup is the name of the run's cgroup in each of Trees.
	Cgroup string
	Trees  []tree
	// Hidden are programs that the tests must not find.
	Hidden []string
}

func planOf() (plan, error) {
	var p plan
	if err := json.Unmarshal([]byte(os.Getenv(planEnv)), &p); err != nil {
		return p, fmt.Errorf("%s: %w", planEnv, err)
	}
	return p, nil
}

// onHost runs the tests on this host. Afterwards, nothing of the run is left but its results.
func onHost(ctx context.Context, o options, out io.Writer) (err error) {
	if os.Geteuid() != 0 {
		return errors.New("-host: the tests start containers: run this as root")
	}
	trees, err := cgroupTrees()
	if err != nil {
		return err
	}
	tests, err := buildHost(ctx, out)
	if err != nil {
		return err
	}
	cache, err := lab.Cache()
	if err != nil {
		return err
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	if err := claimDir(o.dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	if err := furnish(o, tests); err != nil {
		return err
	}
	p := plan{
		Dir: o.dir, Cache: cache, Layout: tests.Layout, Cgroup: cgroupOf(o.dir), Trees: trees,
		Hidden: programsOf(os.Getenv("PATH"), "systemd-run", "systemctl", "journalctl"),
	}
	defer func() { err = errors.Join(err, removeCgroups(p)) }()
	if err := createCgroups(p); err != nil {
		return err
	}
	values := sysctls()
	defer func() { err = errors.Join(err, restoreSysctls(values)) }()
	return test(ctx, o, func(ctx context.Context, _ time.Time, dir string) error {
		p := p
		var err error
		if p.Results, err = filepath.Abs(dir); err != nil {
			return err
		}
		return spawnInit(ctx, p, out)
	})
}

// buildHost builds what is missing: in the namespaces there is no network.
func buildHost(ctx context.Context, out io.Writer) (lab.NodeTests, error) {
	if err := lab.Build(ctx, out); err != nil {
		return lab.NodeTests{}, err
	}
	if err := lab.Packages(ctx, out, "iproute2"); err != nil {
		return lab.NodeTests{}, err
	}
	return lab.BuildNodeTests(ctx, out)
}

// claimDir makes the directory of a run, which must be new or empty.
func claimDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("-dir %s: must be new or empty, but has %s", dir, entries[0].Name())
	}
	return nil
}

// programsOf are all files of some names in the directories of a PATH.
func programsOf(path string, names ...string) []string {
	var found []string
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) { // a program there is not found: LookPath refuses it
			continue
		}
		for _, name := range names {
			if file, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				found = append(found, file)
			}
		}
	}
	return found
}
