package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent"
	"github.com/kubeloupe/kubeloupe/agent/cri"
	podid "github.com/kubeloupe/kubeloupe/agent/pod"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/inspect/snapshot"
	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui"
)

// stepSource is the name of the pod source that step adds.
const stepSource = "step"

// stepping is one run of the step command.
type stepping struct {
	node    *node
	pod     trace.Pod
	source  *podsource.Memory
	session *step.Session
	s       streams
	script  io.Reader // nil: commands come from standard input
}

func newStep(s streams) *cobra.Command {
	var o nodeOptions
	var which, script string
	c := &cobra.Command{
		Use:   "step FILE",
		Short: "Run a pod and stop before each action of its creation",
		Long: `Run the pod of a manifest on this node, stopping before each action: see the exact request that
comes next and what changed since the last stop. The rest of the node goes on. FILE may be - for standard input
(then --script gives the commands).

` + step.Help + `

When the input ends or the terminal is lost, the gate opens and the pod goes on.`,
		Example: `  kubeloupe step web.yaml
  kubeloupe step web.yaml --runtime sim
  printf 'b create\nc\np\nq\n' | kubeloupe step web.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("step wants one FILE, a pod's manifest (or - for standard input), and got %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			st := &stepping{s: s}
			if err := st.open(args[0], script); err != nil {
				return err
			}
			n, err := o.build(c, func(cfg *agent.Config) error { return st.attach(cfg, args[0], which) })
			if err != nil {
				return err
			}
			st.node = n
			return n.run(c.Context(), func(ctx context.Context) error { return st.show(ctx, c.Context(), &o) })
		},
	}
	o.add(c)
	c.Flags().Lookup("output").Hidden = true
	c.Flags().StringVar(&which, "pod", "", "which pod of FILE to step, as NAMESPACE/NAME; the first one unless given")
	c.Flags().StringVar(&script, "script", "", "file of commands, one a line, instead of standard input; implies --no-tui")
	return c
}

func (st *stepping) open(file, script string) error {
	if script == "" {
		if file == "-" {
			return userError{errors.New("step -: commands and the manifest cannot both come from standard input; give --script")}
		}
		return nil
	}
	p, err := os.ReadFile(script)
	if err != nil {
		return userError{fmt.Errorf("--script: %w", err)}
	}
	st.script = newlines(p)
	return nil
}

// attach reads the manifest and puts its pods and the gate into the agent's configuration.
func (st *stepping) attach(cfg *agent.Config, file, which string) error {
	pods, err := readManifest(file, st.s.in, cfg.NodeName)
	if err != nil {
		return userError{err}
	}
	var pod *v1.Pod
	for _, p := range pods {
		if ref := podid.Ref(p).String(); pod == nil && (which == "" || which == ref || which+"-"+cfg.NodeName == ref) {
			pod = p
		}
	}
	if pod == nil {
		return userError{fmt.Errorf("%s has no pod %q; it has %s", file, which, names(pods))}
	}
	st.pod = podid.Ref(pod)
	k := cfg.Kubelet
	snap := snapshot.Config{RootDir: k.Node.RootDir, LogsDir: k.Pods.LogsDir, Runtime: lazyCRI(cfg.Endpoint)}
	if !cfg.Simulated {
		snap.CgroupMount, snap.CgroupRoot = "/sys/fs/cgroup", k.Cgroups.Root
	}
	if st.session, err = step.New(step.Config{Pod: st.pod, Snapshot: snapshot.New(snap), Bus: cfg.Bus}); err != nil {
		return err
	}
	st.source = podsource.NewMemory(stepSource, cfg.Bus)
	st.source.Set(pods...)
	cfg.Sources = append(cfg.Sources, st.source)
	cfg.Gate = st.session
	return nil
}

// show lets the person step: in the UI on a terminal, by lines elsewhere. quit is the
// command's own context, which ends when the terminal is lost.
func (st *stepping) show(ctx, lost context.Context, o *nodeOptions) error {
	stop := context.AfterFunc(lost, st.session.Close)
	defer stop()
	defer st.session.Close()
	if st.script != nil || !o.wantsUI(st.s) {
		return st.lines(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return o.show(ctx, st.node, st.s, tui.Config{Stepper: &uiStepper{st: st, ctx: ctx, end: cancel}})
}

// uiStepper is the session as the UI uses it: quitting deletes the pod and ends the UI.
type uiStepper struct {
	st  *stepping
	ctx context.Context //nolint:containedctx // the UI's life, which a quit ends
	end context.CancelFunc
}

// Stops implements tui.Stepper.
func (u *uiStepper) Stops() <-chan step.Stop { return u.st.session.Stops() }

// Do implements tui.Stepper.
func (u *uiStepper) Do(ctx context.Context, line string) (string, error) {
	if isQuit(line) {
		err := u.st.remove(u.ctx)
		u.end()
		return "", err
	}
	return u.st.session.Do(ctx, line)
}

// remove deletes the stepped pod and returns when nothing of it is left.
func (st *stepping) remove(ctx context.Context) error {
	cur := st.node.bus.Subscribe(trace.FromNow)
	defer cur.Close()
	st.source.Set()
	st.session.Quit()
	st.session.Close()
	return await(ctx, cur, st.pod, "gone")
}

// await reads until the pod reaches a milestone.
func await(ctx context.Context, cur *trace.Cursor, pod trace.Pod, name string) error {
	buf := make([]trace.Record, 0, 64)
	for {
		recs, _, err := cur.Next(ctx, buf)
		if err != nil {
			return fmt.Errorf("waiting for %s to be %s: %w", pod, name, err)
		}
		for i := range recs {
			if m, ok := recs[i].Event.(*trace.Milestone); ok && recs[i].Pod.UID == pod.UID && m.Name == name {
				return nil
			}
		}
	}
}

// lazyCRI asks the runtime for snapshots over a connection of its own, so that
// looking does not show up among the agent's calls. It lasts as long as the process.
func lazyCRI(endpoint string) snapshot.Runtime {
	var mu sync.Mutex
	var rt snapshot.Runtime
	return func(ctx context.Context, pod trace.Pod) (lines, ids []string) {
		mu.Lock()
		defer mu.Unlock()
		if rt == nil {
			c, err := cri.Dial(ctx, cri.Config{Endpoint: endpoint})
			if err != nil {
				return []string{"what the runtime has is not known: " + err.Error()}, nil
			}
			rt = snapshot.FromCRI(c.Runtime)
		}
		return rt(ctx, pod)
	}
}
