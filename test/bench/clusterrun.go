package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

const benchNamespace = "bench"

// clusterBench is a run in a cluster.
type clusterBench struct {
	o       options
	dir     string
	cluster *lab.Cluster
	client  kubernetes.Interface
	// node is where the agents work, twin the floor.
	node, twin side
	seen       *seen
	table      table
	// kind and agent are who is measured now.
	kind  lab.AgentKind
	agent *lab.Agent
	// phase counts turns of agents, from 0.
	phase int
}

// clusterRow measures something of the agent whose turn it is, and of the floor.
type clusterRow struct {
	name string
	// restarts says that the row starts and ends agents itself.
	restarts bool
	// once has each agent measured in the first round only.
	once bool
	// ours says that only kubeloupe is measured, and the floor.
	ours bool
	run  func(context.Context, *clusterBench) error
}

func runCluster(ctx context.Context, o options) (err error) {
	rows, err := chooseCluster(o.rows)
	if err != nil {
		return err
	}
	dir, err := place()
	if err != nil {
		return err
	}
	c := &clusterBench{o: o, dir: dir}
	defer func() { err = errors.Join(err, c.close(context.WithoutCancel(ctx))) }()
	if err := c.open(ctx); err != nil {
		return err
	}
	fmt.Printf("%s · %s · upstream's kubelet %s and %s, in turn, %d rounds\n",
		time.Now().UTC().Format(time.DateTime), machine(), lab.KubernetesVersion, o.bin, o.rounds)
	for round := range o.rounds {
		kinds := []lab.AgentKind{lab.Upstream, lab.Kubeloupe}
		if round%2 == 1 {
			slices.Reverse(kinds)
		}
		for _, k := range kinds {
			if err := c.turn(ctx, k, round, rows); err != nil {
				c.table.print(os.Stdout)
				return fmt.Errorf("%s: %w", k, err)
			}
			c.phase++
		}
	}
	c.table.print(os.Stdout)
	return nil
}

// turn measures one agent.
func (c *clusterBench) turn(ctx context.Context, kind lab.AgentKind, round int, rows []clusterRow) error {
	c.kind = kind
	for _, r := range rows {
		if r.once && round > 0 || r.ours && kind != lab.Kubeloupe {
			continue
		}
		if r.restarts {
			if err := c.stopAgent(ctx); err != nil {
				return err
			}
		} else if c.agent == nil {
			if err := c.startAgent(ctx); err != nil {
				return err
			}
			if err := c.warm(ctx); err != nil {
				return fmt.Errorf("the first pod: %w", err)
			}
		}
		begin := time.Now()
		if err := r.run(ctx, c); err != nil {
			return fmt.Errorf("row %s: %w", r.name, err)
		}
		fmt.Fprintf(os.Stderr, "round %d, %s: %s (%s)\n", round+1, kind, r.name, time.Since(begin).Round(time.Second))
	}
	return c.stopAgent(ctx)
}

func (c *clusterBench) open(ctx context.Context) error {
	dir := c.o.dir
	if dir == "" {
		dir = filepath.Join(c.dir, "l0")
	}
	var err error
	if c.cluster, err = lab.UpCluster(ctx, lab.ClusterConfig{Dir: dir, Log: os.Stderr}); err != nil {
		return err
	}
	c.node.lab = c.cluster.Lab
	if c.twin.lab, err = lab.Up(ctx, lab.Config{Dir: filepath.Join(c.dir, "l1"), Log: os.Stderr}); err != nil {
		return err
	}
	for _, s := range []*side{&c.node, &c.twin} {
		if s.cri, err = newDirect(s.lab); err != nil {
			return err
		}
		if s.events, err = listen(ctx, s.cri); err != nil {
			return err
		}
	}
	if c.client, err = c.cluster.Client(); err != nil {
		return err
	}
	if err := c.makeObjects(ctx); err != nil {
		return err
	}
	c.seen, err = look(ctx, c.client)
	return err
}

// makeObjects makes what the pods need.
func (c *clusterBench) makeObjects(ctx context.Context) error {
	meta := metav1.ObjectMeta{Name: benchNamespace, Namespace: benchNamespace}
	core := c.client.CoreV1()
	_, err := core.Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: benchNamespace}}, metav1.CreateOptions{})
	if err == nil { // the pods of a node without an object are deleted after a while, all at once: pkg/controller/podgc
		_, err = core.Nodes().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: elsewhere}}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = core.ConfigMaps(benchNamespace).Create(ctx, &v1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"k": "v"}}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = core.Secrets(benchNamespace).Create(ctx, &v1.Secret{ObjectMeta: meta, StringData: map[string]string{"k": "v"}}, metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	for range 100 {
		if _, err = core.ServiceAccounts(benchNamespace).Get(ctx, "default", metav1.GetOptions{}); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// startAgent starts the agent whose turn it is and waits for its node.
func (c *clusterBench) startAgent(ctx context.Context) error {
	if err := c.startOnly(ctx); err != nil {
		return err
	}
	return c.agent.WaitReady(ctx)
}

func (c *clusterBench) startOnly(ctx context.Context, args ...string) error {
	return c.startAs(ctx, "bench-"+string(c.kind), args...)
}

// startAs starts the agent with a state of its own.
func (c *clusterBench) startAs(ctx context.Context, state string, args ...string) error {
	cfg := lab.AgentConfig{Kind: c.kind, State: state, Args: args}
	if c.kind == lab.Kubeloupe {
		program, err := filepath.Abs(c.o.bin)
		if err != nil {
			return err
		}
		cfg.Program = program
	}
	var err error
	c.agent, err = c.cluster.StartAgent(ctx, cfg)
	return err
}

func (c *clusterBench) stopAgent(ctx context.Context) error {
	if c.agent == nil {
		return nil
	}
	a := c.agent
	c.agent = nil
	if !a.Alive() {
		return fmt.Errorf("%s had ended; see %s", a.Kind, a.LogFile)
	}
	return a.Stop(ctx)
}

func (c *clusterBench) close(ctx context.Context) error {
	var errs []error
	if c.cluster == nil {
		return os.RemoveAll(c.dir)
	}
	if c.seen != nil {
		c.seen.stop()
	}
	if c.client != nil {
		errs = append(errs, c.client.CoreV1().Pods(benchNamespace).DeleteCollection(ctx,
			metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{}))
	}
	errs = append(errs, c.stopAgent(ctx))
	for _, s := range []*side{&c.node, &c.twin} {
		if s.cri != nil {
			errs = append(errs, s.cri.conn.Close())
		}
	}
	if c.cluster.Existing {
		errs = append(errs, c.cluster.RemovePods(ctx))
	} else {
		errs = append(errs, c.cluster.Down(ctx))
	}
	if c.twin.lab != nil {
		errs = append(errs, c.twin.lab.Down(ctx))
	}
	return errors.Join(append(errs, os.RemoveAll(c.dir))...)
}

func chooseCluster(names string) ([]clusterRow, error) {
	all := clusterRows()
	if names == "" {
		return all, nil
	}
	var out []clusterRow
	for n := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(r clusterRow) bool { return r.name == strings.TrimSpace(n) })
		if i < 0 {
			return nil, fmt.Errorf("-rows %q: want some of %s", n, strings.Join(clusterRowNames(), ","))
		}
		out = append(out, all[i])
	}
	return out, nil
}
