package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

const (
	namespace = "swap"
	// stateName is the root directory that the agents share.
	stateName = "swap"
	driver    = "lab.csi.kubeloupe.dev"
)

// swap is one run.
type swap struct {
	options
	cluster *lab.Cluster
	client  kubernetes.Interface
	agent   *lab.Agent
	driver  *driverProcess
	// round counts exchanges.
	round    int
	failures int
}

func run(ctx context.Context, o options) (failed int, err error) {
	s := &swap{options: o}
	s.cluster, err = lab.UpCluster(ctx, lab.ClusterConfig{Dir: o.dir, Log: os.Stderr})
	if err != nil {
		return 0, err
	}
	defer func() {
		if !o.keep {
			err = errors.Join(err, s.close(context.WithoutCancel(ctx)))
		}
	}()
	if s.client, err = s.cluster.Client(); err != nil {
		return 0, err
	}
	kinds := strings.Split(o.order, ",")
	if err := s.start(ctx, lab.AgentKind(kinds[0])); err != nil {
		return 0, err
	}
	if err := s.makePods(ctx); err != nil {
		return 0, err
	}
	for _, k := range kinds[1:] {
		if err := s.exchange(ctx, lab.AgentKind(k)); err != nil {
			return s.failures, err
		}
	}
	if !o.keep {
		s.ending(ctx)
	}
	return s.failures, nil
}

// start starts an agent on the shared state and waits for its node.
func (s *swap) start(ctx context.Context, kind lab.AgentKind) error {
	cfg := lab.AgentConfig{Kind: kind, State: stateName, Log: os.Stderr}
	if kind == lab.Kubeloupe {
		cfg.Program = s.program
	}
	begin := time.Now()
	var err error
	if s.agent, err = s.cluster.StartAgent(ctx, cfg); err != nil {
		return err
	}
	if s.driver == nil {
		if s.driver, err = s.startDriver(ctx); err != nil {
			return err
		}
	}
	if err := s.agent.WaitReady(ctx); err != nil {
		return err
	}
	fmt.Printf("\n== %s is the node, ready after %s; log %s\n", kind, time.Since(begin).Round(time.Millisecond), s.agent.LogFile)
	return nil
}

// exchange has another agent take over, compares, and tries what should continue.
func (s *swap) exchange(ctx context.Context, kind lab.AgentKind) error {
	s.round++
	before, err := s.see(ctx)
	if err != nil {
		return err
	}
	w, err := s.watch(ctx)
	if err != nil {
		return err
	}
	defer w.stop()
	if err := s.agent.Stop(ctx); err != nil {
		return err
	}
	if err := s.start(ctx, kind); err != nil {
		return err
	}
	select {
	case <-time.After(s.settle):
	case <-ctx.Done():
		return ctx.Err()
	}
	w.stop()
	if !s.agent.Alive() {
		return fmt.Errorf("%s ended; see %s", kind, s.agent.LogFile)
	}
	after, err := s.see(ctx)
	if err != nil {
		return err
	}
	s.compare(before, after)
	for _, change := range w.changes() {
		s.fail("on the way: %s", change)
	}
	for _, line := range w.eventLines() {
		s.note("event: %s", line)
	}
	s.goesOn(ctx)
	return nil
}

func (s *swap) fail(format string, args ...any) {
	s.failures++
	fmt.Printf("FAIL  "+format+"\n", args...)
}

func (*swap) note(format string, args ...any) { fmt.Printf("note  "+format+"\n", args...) }

func (s *swap) close(ctx context.Context) error {
	var errs []error
	if s.agent != nil {
		errs = append(errs, s.agent.Stop(ctx))
	}
	if s.driver != nil {
		errs = append(errs, s.driver.stop())
	}
	if !s.cluster.Existing {
		errs = append(errs, s.cluster.Down(ctx))
	}
	return errors.Join(errs...)
}
