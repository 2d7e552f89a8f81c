package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AgentKind says which agent makes the node.
type AgentKind string

// The agents that can make a node of a cluster.
const (
	// Kubeloupe is this repository's.
	Kubeloupe AgentKind = "kubeloupe"
	// Upstream is Kubernetes' own kubelet.
	Upstream AgentKind = "upstream"
)

// AgentConfig says how to start an agent.
type AgentConfig struct {
	// Kind is the agent; "" means [Kubeloupe].
	Kind AgentKind
	// State names the directory below the cluster's node/ with the agent's root
	// directory, kubeconfig and certificates; "" means "default". Agents that
	// are started one after the other with the same State take over from each
	// other, whatever their kind.
	State string
	// Program is the agent's executable. "" means upstream's kubelet from the
	// cache, or kubeloupe built from this work tree.
	Program string
	// KubeletConfig is the file for --config; "" means the cluster's. See
	// [Cluster.WriteKubeletConfig].
	KubeletConfig string
	// Args are added to the command line, after the lab's.
	Args []string
	// Env is added to the environment, as NAME=value.
	Env []string
	// Log receives a line for what takes time; nil discards it.
	Log io.Writer
}

// Agent is a process that makes, or made, the cluster's node.
type Agent struct {
	Kind AgentKind
	// RootDir is the agent's --root-dir; Kubeconfig is what it got by its token.
	RootDir, Kubeconfig string
	// LogFile has the output of all agents with the same State and Kind.
	LogFile string
	// Started is when the process began.
	Started time.Time

	cluster *Cluster
	process process
}

// agentState is what a lab remembers of an agent.
type agentState struct {
	Kind    AgentKind
	Process process
	Started time.Time
}

// PID returns the number of the agent's process.
func (a *Agent) PID() int { return a.process.PID }

// Alive reports whether the agent's process runs.
func (a *Agent) Alive() bool { return a.process.alive() }

// StartAgent starts an agent, but does not wait for its node: see
// [Agent.WaitReady]. It is an error if one runs already.
func (c *Cluster) StartAgent(ctx context.Context, cfg AgentConfig) (*Agent, error) {
	cfg.Kind = cmp.Or(cfg.Kind, Kubeloupe)
	cfg.State = cmp.Or(cfg.State, "default")
	if !filepath.IsLocal(cfg.State) || strings.Contains(cfg.State, "/") {
		return nil, fmt.Errorf("agent's State %q: want the name of a directory", cfg.State)
	}
	if a := c.Agent(); a != nil {
		return nil, fmt.Errorf("an agent runs already: %s, process %d", a.Kind, a.PID())
	}
	b, err := newBuilder(cfg.Log)
	if err != nil {
		return nil, err
	}
	dir := c.path("node", cfg.State)
	if err := os.MkdirAll(filepath.Join(dir, "root"), 0o755); err != nil {
		return nil, err
	}
	command, err := b.agentCommand(ctx, c, cfg)
	if err != nil {
		return nil, err
	}
	a := c.agent(cfg.State, agentState{Kind: cfg.Kind, Started: time.Now()})
	args := slices.Concat(command[1:], []string{
		"--kubeconfig=" + a.Kubeconfig,
		"--bootstrap-kubeconfig=" + c.BootstrapKubeconfig,
		"--config=" + cmp.Or(cfg.KubeletConfig, c.KubeletConfig),
		"--root-dir=" + a.RootDir,
		"--cert-dir=" + filepath.Join(dir, "pki"),
		"--hostname-override=" + NodeName,
		"--node-ip=" + c.NodeIP,
	}, cfg.Args)
	if a.process, err = spawn(dir, a.LogFile, append(os.Environ(), cfg.Env...), command[0], args...); err != nil {
		return nil, fmt.Errorf("start %s: %w", cfg.Kind, err)
	}
	c.state.Cluster.Agents[cfg.State] = agentState{Kind: a.Kind, Process: a.process, Started: a.Started}
	return a, c.state.save(c.Dir)
}

// agentCommand returns the program and the arguments that only it takes.
func (b builder) agentCommand(ctx context.Context, c *Cluster, cfg AgentConfig) ([]string, error) {
	switch cfg.Kind {
	case Upstream:
		return []string{cmp.Or(cfg.Program, c.Program("kubelet")), "--v=2"}, nil
	case Kubeloupe:
		program := cfg.Program
		if program == "" {
			dir, err := moduleDir(ctx)
			if err != nil {
				return nil, err
			}
			program = c.path("node", "kubeloupe")
			err = b.run(ctx, dir, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-pgo=cmd/kubeloupe/agent.pgo", "-ldflags=-s -w", "-o", program, "./cmd/kubeloupe")
			if err != nil {
				return nil, err
			}
		}
		return []string{program, "run", "--no-tui"}, nil
	default:
		return nil, fmt.Errorf("agent's Kind %q: want %q or %q", cfg.Kind, Kubeloupe, Upstream)
	}
}

func (c *Cluster) agent(name string, s agentState) *Agent {
	dir := c.path("node", name)
	return &Agent{
		Kind:       s.Kind,
		RootDir:    filepath.Join(dir, "root"),
		Kubeconfig: filepath.Join(dir, "kubeconfig"),
		LogFile:    filepath.Join(dir, string(s.Kind)+".log"),
		Started:    s.Started,
		cluster:    c,
		process:    s.Process,
	}
}

// refresh learns of agents that other processes started.
func (c *Cluster) refresh() {
	if s, err := loadState(c.Dir); err == nil && s != nil && s.Cluster != nil && s.Cluster.Agents != nil {
		c.state.Cluster.Agents = s.Cluster.Agents
	}
}

// Agent returns the agent that runs, or nil, whoever started it.
func (c *Cluster) Agent() *Agent {
	c.refresh()
	for name, s := range c.state.Cluster.Agents {
		if s.Process.alive() {
			return c.agent(name, s)
		}
	}
	return nil
}

// Stop ends the agent, by force after ten seconds. The node's pods continue.
func (a *Agent) Stop(ctx context.Context) error {
	return a.process.stop(ctx, 10*time.Second)
}

// WaitReady waits until the agent's node is ready for pods: the condition was
// reported by this agent, and no taint is left.
func (a *Agent) WaitReady(ctx context.Context) error {
	client, err := a.cluster.Client()
	if err != nil {
		return err
	}
	var last error
	ok := poll(ctx, 2*time.Minute, 100*time.Millisecond, func() bool {
		if !a.Alive() {
			last = errors.New("its process ended")
			return true
		}
		node, err := client.CoreV1().Nodes().Get(ctx, NodeName, metav1.GetOptions{})
		if err == nil {
			err = nodeReady(node)
		}
		if err == nil {
			lease, leaseErr := client.CoordinationV1().Leases(v1.NamespaceNodeLease).Get(ctx, NodeName, metav1.GetOptions{})
			switch {
			case leaseErr != nil:
				err = leaseErr
			case lease.Spec.RenewTime == nil || lease.Spec.RenewTime.Time.Before(a.Started):
				err = errors.New("the node's lease was not renewed yet")
			}
		}
		last = err
		return err == nil
	})
	if ok && last == nil {
		return nil
	}
	said, _ := os.ReadFile(a.LogFile)
	return fmt.Errorf("the node of %s does not get ready: %w; it said:\n%s", a.Kind, cmp.Or(ctx.Err(), last), tail(said, 10))
}

func nodeReady(node *v1.Node) error {
	for _, c := range node.Status.Conditions {
		switch {
		case c.Type != v1.NodeReady:
		case c.Status != v1.ConditionTrue:
			return fmt.Errorf("the node is not ready: %s: %s", c.Reason, c.Message)
		case len(node.Spec.Taints) > 0:
			return fmt.Errorf("the node has the taint %s", node.Spec.Taints[0].ToString())
		default:
			return nil
		}
	}
	return errors.New("the node has no condition Ready")
}
