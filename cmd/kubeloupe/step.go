package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent"
	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/podsource"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/wholefile"
	"github.com/kubeloupe/kubeloupe/inspect/control"
	"github.com/kubeloupe/kubeloupe/inspect/lookup"
	"github.com/kubeloupe/kubeloupe/inspect/snapshot"
	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui"
)

// stepSource is the name of the pod source that step adds.
const stepSource = string(trace.SourceStep)

// stepping is one run of the step command.
type stepping struct {
	s          streams
	script     io.Reader // nil: commands come from standard input
	transcript string
	front      *step.Front

	// Of a pod of FILE.
	node    *node
	pod     trace.Pod
	source  *podsource.Memory
	session *step.Session

	// Of a pod of a running agent: closed when it ends the session, and why it did.
	ended <-chan struct{}
	why   func() error
}

// stepOptions are the command's flags.
type stepOptions struct {
	nodeOptions
	at                 observed
	pod                string
	script, transcript string
	creation, deletion bool
}

func newStep(s streams) *cobra.Command {
	var o stepOptions
	c := &cobra.Command{
		Use:   "step [FILE]",
		Short: "Step through a pod's creation and deletion, action by action",
		Long: `Pause a pod before each action of its creation and deletion. At each stop you see the exact next request, and what changed
since the last stop. The other pods of the node are not affected.

With FILE, the command starts an agent with the pods of that manifest and steps through one of them. If FILE is -, the manifest
comes from standard input, and --script must name the file of commands. q deletes the pod and quits.

Without FILE, --pod names a pod of an agent that is already running. The pod does not have to exist yet: its next creation or
deletion is paused. q quits, and the pod continues.

Commands:

` + step.Help + `

When the input ends or the terminal is closed, the pod continues.`,
		Example: `  kubeloupe step web.yaml
  kubeloupe step web.yaml --runtime sim
  kubeloupe step --pod shop/cart-7d4f-x2z --deletion
  printf 'b create\nc\np\nq\n' | kubeloupe step web.yaml`,
		Args: o.args,
		RunE: func(c *cobra.Command, args []string) error {
			st := &stepping{s: s, transcript: o.transcript}
			file := ""
			if len(args) == 1 {
				file = args[0]
			}
			if err := st.open(file, o.script); err != nil {
				return err
			}
			if file == "" {
				return o.attach(c.Context(), st)
			}
			return o.runFile(c, st, file)
		},
	}
	o.add(c)
	c.Flags().Lookup("output").Hidden = true
	o.at.addSocket(c)
	c.Flags().StringVar(&o.pod, "pod", "", "the pod to step through, NAMESPACE/NAME: a pod of FILE (default: the first one) or, without FILE, of the running agent")
	must(c.RegisterFlagCompletionFunc("pod", podArgs(&o.at, &scope{}, nil, 1)))
	c.Flags().BoolVar(&o.creation, "creation", false, "without FILE: step through the pod's creation only")
	c.Flags().BoolVar(&o.deletion, "deletion", false, "without FILE: step through the pod's deletion only")
	c.Flags().StringVar(&o.script, "script", "", "read commands from this file, one per line, instead of standard input; implies --no-tui")
	c.Flags().StringVar(&o.transcript, "transcript", "", "append all commands and their output to this file")
	return c
}

func (o *stepOptions) args(_ *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return fmt.Errorf("step takes one FILE, a pod's manifest (or - for standard input), but got %d", len(args))
	case len(args) == 0 && o.pod == "":
		return errors.New("step needs a FILE, a pod's manifest (or - for standard input), or --pod NAMESPACE/NAME of a running agent")
	case len(args) == 1 && (o.creation || o.deletion):
		return errors.New("--creation and --deletion cannot be used with FILE, only with --pod of a running agent")
	case o.creation && o.deletion:
		return errors.New("--creation and --deletion cannot be used together; without them, the command steps through both")
	case len(args) == 0:
		_, err := step.ParsePod(o.pod)
		return err
	}
	return nil
}

func (st *stepping) open(file, script string) error {
	if script == "" {
		if file == "-" {
			return userError{errors.New("step -: commands and the manifest cannot both come from standard input: use --script FILE")}
		}
		return nil
	}
	p, err := wholefile.Read(script, wholefile.Large)
	if err != nil {
		return userError{fmt.Errorf("--script: %w", err)}
	}
	st.script = newlines(p)
	return nil
}

// begin puts a front before a session, with the transcript.
func (st *stepping) begin(ctx context.Context, inner step.Stepper) error {
	st.front = step.NewFront(inner)
	if st.transcript != "" {
		if _, err := st.front.Transcript(st.transcript); err != nil {
			return userError{fmt.Errorf("--%w", err)}
		}
	}
	go st.front.Run(ctx)
	return nil
}

// attach steps a pod of an agent that runs already.
func (o *stepOptions) attach(ctx context.Context, st *stepping) error {
	cl, err := o.at.dial(ctx)
	if err != nil {
		return err
	}
	stepper, err := cl.Step(ctx, control.StepRequest{Pod: o.pod, Creation: o.creation, Deletion: o.deletion})
	if err != nil {
		return userError{err}
	}
	defer stepper.Close()
	st.ended, st.why = stepper.Done(), stepper.Err
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := st.begin(ctx, stepper); err != nil {
		return err
	}
	if st.script != nil || !o.wantsUI(st.s) {
		return st.lines(ctx)
	}
	l := &link{client: cl}
	defer l.close()
	return tui.Run(ctx, tui.Config{
		Source: l, Stepper: st.front, In: st.s.in, Out: screen(st.s.out), ViewName: o.view, Theme: string(o.theme), Link: l.trouble, Label: "ATTACHED",
		Logs: readLogs(cl),
	})
}

// runFile runs an agent with the pods of a file and steps one of them.
func (o *stepOptions) runFile(c *cobra.Command, st *stepping, file string) error {
	n, err := o.build(c, func(cfg *agent.Config) error { return st.add(cfg, file, o.pod) })
	if err != nil {
		return err
	}
	st.node = n
	if st.session, err = n.gate.Attach(step.Config{Pod: st.pod}); err != nil {
		return err
	}
	defer st.session.Close()
	return n.run(c.Context(), func(ctx context.Context) error {
		if err := st.begin(ctx, st.session); err != nil {
			return err
		}
		return st.show(ctx, c.Context(), &o.nodeOptions)
	})
}

// add reads the manifest and puts its pods into the agent's configuration.
func (st *stepping) add(cfg *agent.Config, file, which string) error {
	pods, err := readManifest(file, st.s.in, cfg.NodeName)
	if err != nil {
		return userError{err}
	}
	var pod *v1.Pod
	for _, p := range pods {
		if ref := podspec.Ref(p).String(); pod == nil && (which == "" || which == ref || which+"-"+cfg.NodeName == ref) {
			pod = p
		}
	}
	if pod == nil {
		return userError{&lookup.NotFoundError{What: "pod", Name: which, In: file, Known: names(pods)}}
	}
	st.pod = podspec.Ref(pod)
	st.source = podsource.NewMemory(stepSource, cfg.Bus)
	st.source.Set(pods...)
	cfg.Sources = append(cfg.Sources, st.source)
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
func (u *uiStepper) Stops() <-chan step.Stop { return u.st.front.Stops() }

// Do implements tui.Stepper.
func (u *uiStepper) Do(ctx context.Context, line string) (string, error) {
	if isQuit(line) {
		err := u.st.remove(u.ctx)
		u.end()
		return "", err
	}
	return u.st.front.Do(ctx, line)
}

// remove deletes the stepped pod and returns when nothing of it is left. What deletes it is not held.
func (st *stepping) remove(ctx context.Context) error {
	cur := st.node.bus.Subscribe(trace.FromNow)
	defer cur.Close()
	st.source.Set()
	if _, err := st.front.Do(ctx, "quit"); err != nil {
		return err
	}
	return await(ctx, cur, st.pod, trace.MilestoneGone)
}

// await reads until the pod reaches a milestone.
func await(ctx context.Context, cur *trace.Cursor, pod trace.Pod, name trace.MilestoneName) error {
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
				return []string{"cannot list what the runtime has: " + err.Error()}, nil
			}
			rt = snapshot.FromCRI(c.Runtime)
		}
		return rt(ctx, pod)
	}
}
