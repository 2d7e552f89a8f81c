package nodecause

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

func notReady() Rule {
	return Rule{
		ID: "KN01", Name: "node not Ready",
		About: "The agent itself is not ready to run pods: it still starts, it has stopped, or it reports that the container runtime or the pod network " +
			"is not ready, or that the machine is about to shut down; or the Ready condition that it last wrote is False. It is not reported where KL15 (the runtime) or KL07 (the network) says why.",
		find: findNotReady,
	}
}

// startsFor is how long an agent may take to start.
const startsFor = 10 * time.Second

func findNotReady(in *Input, others []cause.Finding) []cause.Finding {
	n := in.Model.Node()
	f := cause.Finding{Confidence: cause.Certain, Current: true, Cost: in.Now.Sub(n.StateAt)}
	f.Evidence = shown(n.StateSeq, n.StateAt, "the agent's state became %s%s", n.State, because(n.Reason))
	f.RuledOutBy = "kubeloupe inspect node shows the state ready, and kubectl get node shows Ready."
	switch n.State {
	case trace.AgentStarting:
		if f.Cost < startsFor {
			return nil
		}
		f.Sentence = "the agent has been starting for " + human.Duration(f.Cost) + ": it runs no pods before it has reached the container runtime, and the API server or its other sources of pods"
		f.Remedy = "See what it waits for: kubeloupe events, and the agent's log. The runtime's socket must exist (crictl info), and the API server of the kubeconfig must answer."
	case trace.AgentStopping, trace.AgentStopped:
		f.Sentence = "the agent " + map[trace.AgentState]string{trace.AgentStopping: "stops", trace.AgentStopped: "has stopped"}[n.State] + because(n.Reason) + "; until an agent runs again, nothing starts, restarts or reports pods"
		f.Remedy = "Start it again: systemctl status and journalctl -u of its unit say why it stopped."
	case trace.AgentDegraded:
		if has(others, "KL15", "KL07") {
			return nil
		}
		f.Sentence = "the agent reports that the node cannot run pods" + because(n.Reason)
		f.Remedy = "crictl info shows the runtime's conditions RuntimeReady and NetworkReady. For the runtime: systemctl status containerd and its log. For the network: the network plugin's pod on this node, and /etc/cni/net.d."
	case trace.AgentReady, "":
		if !n.Shutdown.Since.IsZero() {
			return []cause.Finding{shutsDown(in, &n.Shutdown)}
		}
		c, ok := readyOf(in.Model)
		if !ok || c.Status == "True" || has(others, "KL15", "KL07") || in.Now.Sub(c.At) < startsFor {
			return nil
		}
		f.Cost = in.Now.Sub(c.At)
		f.Evidence = shown(c.Seq, c.At, "the Ready condition was written as %s%s", c.Status, because(c.Reason))
		f.Sentence = fmt.Sprintf("the node's Ready condition is %s%s", c.Status, because(c.Reason))
		f.Remedy = "kubectl describe node shows the condition's message; kubeloupe inspect node shows what the agent has."
	}
	return []cause.Finding{f}
}

// shutsDown is a graceful shutdown that is under way.
func shutsDown(in *Input, s *model.Shutdown) cause.Finding {
	f := cause.Finding{
		Confidence: cause.Certain, Current: true, Cost: in.Now.Sub(s.Since), Evidence: shown(s.Seq, s.Since, "logind announced a shutdown"),
		Sentence:   "the machine is about to shut down: the node takes no pods, and its pods terminate",
		Remedy:     "Wait until the machine has started again. Who requested it: journalctl -u systemd-logind.",
		RuledOutBy: "systemd-inhibit --list shows no shutdown in progress, and kubectl get node shows Ready.",
	}
	if s.Group > 0 && !s.Released {
		f.Sentence = fmt.Sprintf("the machine is about to shut down: the node takes no pods, and its pods terminate, now those of group %d of %d", s.Group, s.Groups)
	}
	return f
}

// readyOf is the Ready condition as last written; false if no record shows it.
func readyOf(m *model.Model) (model.Condition, bool) {
	for _, c := range m.NodeConditions() {
		if c.Type == "Ready" {
			return c, true
		}
	}
	return model.Condition{}, false
}

// because is a reason behind a colon; empty if there is none.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + human.Line(reason)
}
