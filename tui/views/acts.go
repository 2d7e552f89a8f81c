package views

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/keys"
)

// acts are the keys for what is known of the pod under the cursor. They come before what a key means elsewhere.
type acts struct {
	look                             Look
	why, logs, describe, yaml, other key.Binding
}

// actHints remind of them.
const actHints = "w why  l logs  d describe  y YAML  t compare"

func newActs(look Look) acts {
	return acts{
		look: look, why: keys.Of("why: the answer of kubeloupe why", "w"), logs: keys.Of("logs of a container, followed", "l"), describe: keys.Of("describe the pod", "d"),
		yaml: keys.Of("the pod as YAML; c copies", "y"), other: keys.Of("another start beside this one", "t"),
	}
}

// keys are the keys, for help.
func (a *acts) keys() []key.Binding { return []key.Binding{a.why, a.logs, a.describe, a.yaml, a.other} }

// Takes implements KeyTaker.
func (a *acts) Takes(msg tea.KeyPressMsg) bool { return key.Matches(msg, a.keys()...) }

// do opens what a key asks for about a pod, the zero pod if none is under the cursor.
func (a *acts) do(msg tea.Msg, pod trace.Pod) (cmd tea.Cmd, took bool) {
	k, ok := msg.(tea.KeyPressMsg)
	switch {
	case !ok || !a.Takes(k):
		return nil, false
	case pod.IsZero():
		return send(Say{Text: "no pod is selected"}), true
	case key.Matches(k, a.why):
		return send(Open{newRetold(a.look, "Why", pod, whyText)}), true
	case key.Matches(k, a.logs):
		return send(Open{NewLogs(a.look, pod)}), true
	case key.Matches(k, a.other):
		return send(Other{pod}), true
	case key.Matches(k, a.describe):
		return send(Open{newRetold(a.look, "Describe", pod, describeText)}), true
	}
	return send(Open{newRetold(a.look, "YAML", pod, yamlText)}), true
}
