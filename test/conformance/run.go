package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/test/ginkgoreport"
	"github.com/kubeloupe/kubeloupe/test/lab"
)

func run(ctx context.Context, o options, out io.Writer) (err error) {
	cache, err := lab.Cache()
	if err != nil {
		return err
	}
	kept := results{dir: filepath.Join(cache, "conformance")}
	if o.compare {
		return show(kept, out, nil)
	}
	c, err := lab.UpCluster(ctx, lab.ClusterConfig{Dir: o.dir, Gates: flagOf(o.gates), Log: out})
	if err != nil {
		return err
	}
	if !c.Existing && !o.keep {
		defer func() { err = errors.Join(err, c.Down(context.WithoutCancel(ctx))) }()
	}
	if o.proxy != "" {
		return behindProxy(ctx, c, o, kept, out)
	}
	if err := node(ctx, c, o, out); err != nil {
		return err
	}
	r, err := test(ctx, c, o, kept.dir, out)
	if err != nil {
		return err
	}
	if err := kept.add(r); err != nil {
		return err
	}
	return show(kept, out, &r)
}

// node makes sure that the wanted agent runs and is ready.
func node(ctx context.Context, c *lab.Cluster, o options, out io.Writer) error {
	a := c.Agent()
	if a != nil && a.Kind != o.agent {
		return fmt.Errorf("in %s runs %s, not %s: end it, or take the cluster down", c.Dir, a.Kind, o.agent)
	}
	if a == nil {
		config, err := gated(c, o.gates)
		if err != nil {
			return err
		}
		a, err = c.StartAgent(ctx, lab.AgentConfig{Kind: o.agent, Program: o.program, KubeletConfig: config, Log: out})
		if err != nil {
			return err
		}
	}
	if err := a.WaitReady(ctx); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%s made node %s ready; its log is %s\n", a.Kind, lab.NodeName, a.LogFile)
	return err
}

// test runs ginkgo, and reads its report. That tests failed is no error.
func test(ctx context.Context, c *lab.Cluster, o options, dir string, out io.Writer) (result, error) {
	r := result{Agent: o.agent, Begin: time.Now().UTC().Truncate(time.Second), Full: o.full(), Focus: o.focus, Skip: o.skip, Gates: flagOf(o.gates)}
	raw := filepath.Join(dir, r.name())
	if err := os.MkdirAll(raw, 0o755); err != nil {
		return r, err
	}
	if err := c.MapCDI(ctx); err != nil {
		return r, err
	}
	agent := c.Agent()
	if agent == nil {
		return r, errors.New("no agent runs")
	}
	tests, err := lab.ConformanceTests(ctx, out)
	if err != nil {
		return r, err
	}
	log, err := os.Create(filepath.Join(raw, "log"))
	if err != nil {
		return r, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(ctx, c.Program("ginkgo"),
		"--procs="+strconv.Itoa(o.procs), "--timeout=2h", "--no-color", "--output-dir="+raw, "--json-report=report.json",
		"--focus="+o.focus, "--skip="+o.skip, tests, "--",
		"--provider=skeleton", "--kubeconfig="+c.Kubeconfig, "--kubectl-path="+c.Program("kubectl"),
		"--container-runtime-endpoint="+c.RuntimeEndpoint, "--kubelet-root-dir="+agent.RootDir,
		"--num-nodes=1", "--dns-domain=cluster.local")
	cmd.Dir, cmd.Stdout, cmd.Stderr = raw, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = time.Minute
	_, _ = fmt.Fprintf(out, "running the tests, %d at once; their output goes to %s\n", o.procs, log.Name())
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		progress(out, log.Name(), stop)
	}()
	runErr := cmd.Run()
	close(stop)
	<-stopped
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	r.Seconds = time.Since(r.Begin).Seconds()
	if r.Tests, err = ginkgoreport.Read(filepath.Join(raw, "report.json")); err != nil {
		return r, errors.Join(fmt.Errorf("run the tests: see %s", log.Name()), runErr, err)
	}
	if len(r.Tests) == 0 {
		return r, errors.Join(fmt.Errorf("no test ran: is there one that --focus matches? See %s", log.Name()), runErr)
	}
	return r, nil
}

// progress says now and then how many tests ended.
func progress(out io.Writer, log string, stop <-chan struct{}) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for begin := time.Now(); ; {
		select {
		case <-stop:
			return
		case <-tick.C:
			said, _ := os.ReadFile(log)
			failed := bytes.Count(said, []byte("• [FAILED]"))
			_, _ = fmt.Fprintf(out, "  %s: %d ended, %d of them failed\n",
				time.Since(begin).Round(time.Second), bytes.Count(said, []byte("•")), failed)
		}
	}
}
