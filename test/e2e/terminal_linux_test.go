package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/kubeloupe/kubeloupe/test/terminal"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestAttach looks at an agent from another terminal while it is killed and comes back.
func TestAttach(t *testing.T) {
	n := newNode(t)
	a := n.start()
	n.put("web.yaml", named("web"))
	a.ready("web")
	x := terminal.Start(t, exec.Command(n.binary, "tui", "--socket", n.socket(), "--view", "workers"))
	x.Sees(fmt.Sprintf("ATTACHED pid %d", a.cmd.Process.Pid), n.pod("web"))
	a.kill()
	x.Sees("CUT OFF", "the agent has stopped; reconnecting")
	a = n.start()
	x.Sees(fmt.Sprintf("ATTACHED pid %d", a.cmd.Process.Pid), n.pod("web"))
	n.put("other.yaml", named("other"))
	a.ready("other")
	x.Sees(n.pod("other"))
	x.Types("q")
	x.Ends()
	n.await("the terminal to be given back", func() bool { return strings.Contains(x.Text(), "\x1b[?1049l") })
	if a.exited() {
		t.Error("q in an attached UI ended the agent")
	}
	n.says("ready after", "events", "--socket", n.socket())
}

// stuckPods are what starts under an agent whose terminal is stuck.
const stuckPods = 40

// TestStuckTerminal has the agent's own terminal, and that of a UI that is attached, take nothing more: all pods start, others can look, and it
// ends in order. What it costs is measured by test/bench.
func TestStuckTerminal(t *testing.T) {
	n := newNode(t)
	t.Cleanup(func() { n.start() }) // and with it, what a node is looked at for when it is finished
	cmd := n.command()
	cmd.Args = slices.DeleteFunc(cmd.Args, func(a string) bool { return a == "-o" || a == "json" })
	x := terminal.Start(t, cmd)
	x.Sees("Overview")
	x.Stick()
	n.await("the agent's socket", func() bool { _, err := os.Stat(n.socket()); return err == nil })
	y := terminal.Start(t, exec.Command(n.binary, "tui", "--socket", n.socket(), "--view", "log"))
	y.Sees("ATTACHED")
	y.Stick()
	seen := n.listen()
	defer seen.kill()
	var pods []string
	for i := range stuckPods {
		pods = append(pods, fmt.Sprintf("s%d", i))
		n.put(pods[i]+".yaml", sleeper(pods[i], "$BUSYBOX", "IfNotPresent"))
	}
	seen.ready(pods...)
	for _, p := range pods {
		if !x.Full() || !y.Full() {
			t.Fatal("a terminal is not stuck: something reads it")
		}
		n.drop(p + ".yaml")
	}
	seen.gone(pods...)
	for _, ui := range []*terminal.Terminal{y, x} {
		if err := ui.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		ui.Ends()
	}
}

// listen follows the running agent's records by its socket.
func (n *node) listen() *agent {
	n.t.Helper()
	a := n.begin(exec.Command(n.binary, "events", "--follow", "-o", "json", "--socket", n.socket()), nil, nil)
	a.wait("agent ready", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.Agent)
		return ok && e.State == trace.AgentReady
	})
	return a
}
