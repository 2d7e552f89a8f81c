package views

import (
	"cmp"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// what is what the node is and has.
func (p *Node) what(n *model.Node) section {
	th, s, d := p.Theme, section{title: "the node"}, &n.Described
	if d.At.IsZero() {
		s.add("", say.Untold, style.Dim)
		return s
	}
	var system []string
	for _, w := range []string{d.OSImage, d.Kernel, strings.Trim(d.OS+"/"+d.Architecture, "/")} {
		if w != "" {
			system = append(system, w)
		}
	}
	s.add("system", th.Clean(strings.Join(system, ", ")), style.Plain)
	s.add("kubelet", th.Clean(d.KubeletVersion), style.Plain)
	var addresses []string
	for _, a := range d.Addresses {
		addresses = append(addresses, a.Address)
	}
	s.add("addresses", th.Clean(strings.Join(addresses, ", ")), style.Plain)
	s.add("cgroups", th.Clean(say.Cgroups(&d.NodeDescribed)), style.Plain)
	row := func(name, capacity, allocatable string) string {
		return th.Left(th.Clean(name), 17) + th.Right(th.Clean(capacity), 11) + th.Right(th.Clean(allocatable), 12)
	}
	s.add("resources", row("", "capacity", "allocatable"), style.Dim)
	for _, r := range d.Resources {
		if strings.HasPrefix(r.Name, "hugepages-") && r.Capacity == "0" {
			continue // of most nodes
		}
		s.add(" ", row(r.Name, model.Amount(r.Name, r.Capacity), model.Amount(r.Name, r.Allocatable)), style.Plain)
	}
	if len(d.Changed) > 0 {
		s.add("changed", th.Clean(p.ago(d.At)+": "+strings.Join(d.Changed, ", ")), style.Plain)
	}
	return s
}

// handlers is what the container runtime can do.
func (p *Node) handlers(s *section, h *model.Handlers) {
	th := p.Theme
	if h.At.IsZero() {
		s.add("handlers", say.Untold, style.Dim)
		return
	}
	if len(h.Handlers) == 0 {
		s.add("handlers", "the runtime names none", style.Dim)
	} else {
		var names []string
		for _, one := range h.Handlers {
			names = append(names, model.HandlerName(one.Name))
		}
		s.add("handlers", th.Clean(strings.Join(names, ", ")), style.Plain)
		s.add("rro mounts", th.Clean("recursive read-only mounts: "+h.Who(func(one trace.RuntimeHandler) bool { return one.RecursiveReadOnlyMounts })), style.Plain)
		s.add("user ns", th.Clean("user namespaces: "+h.Who(func(one trace.RuntimeHandler) bool { return one.UserNamespaces })), style.Plain)
	}
	if f := h.Features; f != nil {
		s.add("features", "supplementalGroupsPolicy "+yesNo(f.SupplementalGroupsPolicy)+", user namespaces on the host's network "+yesNo(f.UserNamespacesHostNetwork), style.Plain)
	} else {
		s.add("features", "the runtime names none", style.Dim)
	}
	if len(h.Changed) > 0 {
		s.add("changed", th.Clean(p.ago(h.At)+": "+strings.Join(h.Changed, ", ")), style.Plain)
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// certificate adds what there is to say of one.
func (p *Node) certificate(s *section, c *model.Certificate) {
	th := p.Theme
	if c.None != "" {
		s.add(th.Clean(string(c.Use)), th.Clean(c.None), style.Dim)
		return
	}
	s.add(th.Clean(string(c.Use)), th.Clean(cmp.Or(c.Name, "no name")+", serial "+cmp.Or(c.Serial, "unknown")), style.Plain)
	valid, tone := "until "+day(c.NotAfter)+", in "+style.Age(c.NotAfter.Sub(p.now)), style.Plain
	switch {
	case c.NotAfter.IsZero():
		valid, tone = "", style.Dim
	case !p.now.Before(c.NotAfter):
		valid, tone = "no more: it ended "+day(c.NotAfter)+", "+p.ago(c.NotAfter), style.Fail
	case p.now.Before(c.NotBefore):
		valid, tone = "not before "+day(c.NotBefore)+": is the clock right?", style.Fail
	}
	s.add("  valid", valid, tone)
	renewal, tone := "in "+style.Age(c.Renew.Sub(p.now))+", "+day(c.Renew), style.Plain
	switch {
	case c.Renew.IsZero() && c.Use == trace.UseServing:
		renewal, tone = "not by the agent: the files are read again when they change", style.Dim
	case c.Renew.IsZero():
		renewal, tone = "not by the agent", style.Dim
	case !p.now.Before(c.Renew):
		renewal, tone = "due since "+style.Age(p.now.Sub(c.Renew)), style.Slow
	}
	s.add("  renewal", renewal, tone)
	s.add("  from", th.Clean(c.From()), style.Plain)
	s.may("  for", th.Clean(strings.Join(c.Names, ", ")), style.Plain)
}

// day is a time that may be years away, as certificates tell theirs.
func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }
