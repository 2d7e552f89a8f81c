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
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// behindProxy runs the tests on an agent behind the proxy and on one without, and prints both results. It is an error if they differ.
func behindProxy(ctx context.Context, c *lab.Cluster, o options, kept results, out io.Writer) error {
	var runs [2]result
	for i, proxied := range []bool{true, false} {
		r, err := oneOf(ctx, c, o, proxied, kept, out)
		if err != nil {
			return err
		}
		runs[i] = r
	}
	return differ(runs[0], runs[1], out)
}

// oneOf runs the tests on an agent of its own.
func oneOf(ctx context.Context, c *lab.Cluster, o options, proxied bool, kept results, out io.Writer) (r result, err error) {
	cfg := lab.AgentConfig{Kind: o.agent, Program: o.program, State: "direct", Log: out}
	if proxied {
		socket, end, err := relay(ctx, c, o.proxy)
		if err != nil {
			return r, err
		}
		defer end()
		cfg.State = "proxied"
		if cfg.KubeletConfig, err = c.WriteKubeletConfig(cfg.State, func(k map[string]any) { k["containerRuntimeEndpoint"] = "unix://" + socket }); err != nil {
			return r, err
		}
	}
	a, err := c.StartAgent(ctx, cfg)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, a.Stop(context.WithoutCancel(ctx))) }()
	if err := a.WaitReady(ctx); err != nil {
		return r, err
	}
	if r, err = test(ctx, c, o, kept.dir, out); err != nil {
		return r, err
	}
	r.Proxied = proxied
	return r, kept.add(r)
}

// relay starts the proxy, and returns its socket once that is there.
func relay(ctx context.Context, c *lab.Cluster, program string) (socket string, end func(), err error) {
	dir, err := os.MkdirTemp("", "kl-conformance-")
	if err != nil {
		return "", nil, err
	}
	socket = filepath.Join(dir, "cri.sock")
	p := exec.CommandContext(ctx, program, "proxy", "--runtime", strings.TrimPrefix(c.RuntimeEndpoint, "unix://"), "--listen", socket)
	p.Stdout, p.Stderr = os.Stderr, os.Stderr
	p.Cancel = func() error { return p.Process.Signal(syscall.SIGTERM) }
	if err := p.Start(); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	end = func() {
		_ = p.Process.Signal(syscall.SIGTERM)
		_ = p.Wait()
		_ = os.RemoveAll(dir)
	}
	for range 300 {
		if _, err = os.Stat(socket); err == nil {
			return socket, end, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	end()
	return "", nil, fmt.Errorf("the proxy does not listen: %w", err)
}

// differ prints both results side by side. It is an error if a test passed in one only, or none passed.
func differ(with, without result, out io.Writer) error {
	a, b := byName(&with), byName(&without)
	_, _ = fmt.Fprintf(out, "%-16s %-16s test\n", "behind proxy", "without")
	var bad []string
	for _, t := range without.Tests {
		_, _ = fmt.Fprintf(out, "%-16s %-16s %s\n", cell(a, t.Name), cell(b, t.Name), t.Name)
		if a[t.Name].State != t.State {
			bad = append(bad, t.Name)
		}
	}
	var said strings.Builder
	failures(&said, &with)
	failures(&said, &without)
	_, _ = io.WriteString(out, said.String())
	switch {
	case len(bad) > 0 || len(a) != len(b):
		return fmt.Errorf("%d tests end differently behind the proxy: %s", len(bad), strings.Join(bad, "; "))
	case with.count(passed) == 0:
		return errors.New("no test passed")
	}
	return nil
}
