package cluster

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// settling is how long an agent that took over may do what it should not.
const settling = 3 * time.Second

// TestManagersTakeover has upstream's kubelet and kubeloupe take over from each other while CPUs, memory, devices and claims are in use.
func TestManagersTakeover(t *testing.T) {
	b := setup(t)
	m := b.managed(t)
	a := m.run(lab.Upstream)
	a.ready()
	m.plugged(0)
	m.create(wants("bystander", 1, false))
	m.ready("bystander")
	m.create(wants("holder", 1, true))
	m.ready("bystander", "holder")
	has := map[string]given{"bystander": m.see("bystander")}
	has["holder"] = m.holds("holder", has["bystander"])
	m.consistent(has)

	a = m.takeover(a, lab.Kubeloupe, has)
	m.newcomer("second", has)
	m.refused("greedy")
	m.delete(-1, "holder")
	m.end("holder")
	delete(has, "holder")
	m.consistent(has)
	m.create(wants("heir", 1, true))
	m.ready("heir")
	has["heir"] = m.holds("heir", has["bystander"], has["second"])
	m.consistent(has)

	a = m.takeover(a, lab.Upstream, has)
	m.refused("greedier")
	m.delete(-1, "second")
	m.end("second")
	delete(has, "second")
	m.newcomer("third", has)

	a = m.takeover(a, lab.Kubeloupe, has)
	m.delete(-1, "bystander", "heir", "third")
	m.end("bystander", "heir", "third")
	m.consistent(nil)
	m.free()
	for _, c := range m.calls(func(c call) bool { return c.Err != "" }) {
		t.Errorf("a plugin refused: %+v", c)
	}
	a.stop()
}

// takeover has another agent take over, and sees that nothing changed and nothing was given again.
func (m *managed) takeover(a *agent, kind lab.AgentKind, has map[string]given) *agent {
	t := m.t
	t.Helper()
	registered, gave := m.registered(), len(m.calls(gives))
	a.stop()
	a = m.run(kind)
	a.ready()
	m.plugged(registered)
	time.Sleep(settling)
	if !a.Alive() {
		t.Fatalf("%s has ended; see %s", kind, a.LogFile)
	}
	for name, before := range has {
		m.unchanged(name, before)
		if before.CPUs == m.own.String() && m.see(name).CPUs != before.CPUs {
			t.Errorf("%s has lost its CPU", name)
		}
	}
	if all := m.calls(gives); len(all) > gave {
		t.Errorf("after %s took over, the plugins gave %+v", kind, all[gave:])
	}
	m.consistent(has)
	return a
}

// plugged waits until both plugins have registered, after as many registrations as before, and the node offers what they have.
func (m *managed) plugged(before int) {
	m.t.Helper()
	eventually(m.t, "the plugins' registration", func() string {
		if n := m.registered() - before; n < 2 {
			return fmt.Sprintf("%d have registered", n)
		}
		node, err := m.client.CoreV1().Nodes().Get(m.t.Context(), lab.NodeName, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		for _, name := range []v1.ResourceName{alphaResource, betaResource} {
			if q := node.Status.Allocatable[name]; q.Value() != each {
				return fmt.Sprintf("the node offers %s of %s", q.String(), name)
			}
		}
		return ""
	})
}

// newcomer starts a pod, which gets what is free.
func (m *managed) newcomer(name string, has map[string]given) {
	m.t.Helper()
	m.create(wants(name, 1, false))
	m.ready(name)
	g := m.see(name)
	if len(g.Alpha) != 1 || len(g.Beta) != 1 || len(g.Claimed) != 1 {
		m.t.Errorf("%s has %+v", name, g)
	}
	for _, o := range has {
		if o.CPUs == m.own.String() {
			m.apart(g, o)
		} else {
			g := g
			g.CPUs = "" // both share
			m.apart(g, o)
		}
	}
	has[name] = g
}

// refused creates a pod for which nothing is left, past the scheduler.
func (m *managed) refused(name string) {
	m.t.Helper()
	p := wants(name, 1, false)
	p.Spec.NodeName, p.Spec.ResourceClaims, p.Spec.Containers[0].Resources.Claims = lab.NodeName, nil, nil
	m.create(p)
	m.wait(name, "rejected", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
	m.delete(0, name)
	m.end(name)
}
