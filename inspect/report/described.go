package report

import (
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// describe adds what the node, its runtime and the agent's certificates are.
func describe(t *Table, m *model.Model, args Args) {
	n, certificates := m.Node(), m.Certificates()
	for _, f := range []struct {
		name  string
		known bool
	}{
		{"Capacity", !n.Described.At.IsZero()},
		{"Runtime handlers", !n.Handlers.At.IsZero()},
		{"Certificates", len(certificates) > 0},
	} {
		if !f.known {
			t.fact(f.name, "", Value{text: say.Untold})
		}
	}
	t.section(describedOf(&n, args))
	t.section(resourcesOf(&n))
	t.section(handlersOf(&n.Handlers))
	t.section(featuresOf(&n.Handlers))
	t.section(certificatesOf(certificates, args))
}

// describedOf is what the node is and has.
func describedOf(n *model.Node, args Args) *Table {
	d := &n.Described
	t := &Table{Key: "described", Title: "The node"}
	if d.At.IsZero() {
		return t
	}
	t.fact("System", "os_image", str(d.OSImage))
	t.fact("Kernel", "kernel", str(d.Kernel))
	t.fact("Platform", "platform", str(strings.Trim(d.OS+"/"+d.Architecture, "/")))
	t.fact("Kubelet version", "kubelet_version", str(d.KubeletVersion))
	var addresses []string
	for _, a := range d.Addresses {
		addresses = append(addresses, a.Type+" "+a.Address)
	}
	t.fact("Addresses", "addresses", list(addresses))
	if d.CgroupVersion > 0 {
		t.fact("Cgroups", "cgroup_version", Value{"v" + count(d.CgroupVersion).text, d.CgroupVersion})
		t.fact("Cgroup driver", "cgroup_driver", str(d.CgroupDriver))
	} else {
		t.fact("Cgroups", "", Value{text: say.Cgroups(&d.NodeDescribed)})
	}
	if d.Standalone {
		t.fact("Standalone", "standalone", yes(true))
	}
	t.fact("Described", "time", at(d.At, args.Now))
	if len(d.Changed) > 0 {
		t.fact("Changed then", "changed", list(d.Changed))
	}
	return t
}

// resourcesOf is the node's capacity, and what of it is for pods.
func resourcesOf(n *model.Node) *Table {
	t := &Table{Key: "resources", Title: "Resources", Columns: []Column{
		{Name: "RESOURCE", Key: "name"},
		{Name: "CAPACITY", Right: true},
		{Key: "capacity"},
		{Name: "ALLOCATABLE", Right: true},
		{Key: "allocatable"},
	}}
	for _, r := range n.Described.Resources {
		t.add(str(r.Name), str(model.Amount(r.Name, r.Capacity)), str(r.Capacity), str(model.Amount(r.Name, r.Allocatable)), str(r.Allocatable))
	}
	return t
}

// handlersOf is what the container runtime can do.
func handlersOf(h *model.Handlers) *Table {
	t := &Table{Key: "runtime_handlers", Title: "Runtime handlers", Columns: []Column{
		{Name: "HANDLER"},
		{Key: "name"},
		{Name: "RECURSIVE READ-ONLY MOUNTS", Key: "recursive_read_only_mounts"},
		{Name: "USER NAMESPACES", Key: "user_namespaces"},
	}}
	if !h.At.IsZero() {
		t.None = "The runtime names none."
	}
	for _, one := range h.Handlers {
		t.add(str(model.HandlerName(one.Name)), Value{one.Name, one.Name}, yes(one.RecursiveReadOnlyMounts), yes(one.UserNamespaces))
	}
	return t
}

// featuresOf is what the container runtime can do with all handlers.
func featuresOf(h *model.Handlers) *Table {
	t := &Table{Key: "runtime_features", Title: "Runtime features"}
	if f := h.Features; f != nil {
		t.fact("Supplemental groups policy", "supplemental_groups_policy", yes(f.SupplementalGroupsPolicy))
		t.fact("User namespaces on the host's network", "user_namespaces_host_network", yes(f.UserNamespacesHostNetwork))
	}
	return t
}

// certificatesOf are the agent's own.
func certificatesOf(certificates []model.Certificate, args Args) *Table {
	t := &Table{Key: "certificates", Title: "Certificates", Columns: []Column{
		{Name: "USE", Key: "use"},
		{Name: "NAME", Key: "name"},
		{Name: "VALID FOR", Right: true},
		{Key: "not_after"},
		{Name: "RENEWED IN", Right: true},
		{Key: "renew"},
		{Key: "not_before"},
		{Key: "serial"},
		{Key: "issuer"},
		{Key: "names"},
		{Key: "source"},
		{Key: "path"},
		{Key: "cause"},
		{Key: "none"},
		{Key: "time"},
		{Name: "FROM", Long: true},
	}}
	for _, c := range certificates {
		from := c.From()
		if c.None != "" {
			from = "none: " + c.None
		}
		t.add(str(c.Use), str(c.Name), left(c.NotAfter, args.Now, "expired"), when(c.NotAfter), left(c.Renew, args.Now, "due"), when(c.Renew),
			when(c.NotBefore), str(c.Serial), str(c.Issuer), list(c.Names), str(c.Source), str(c.Path), str(c.Cause), text(c.None), when(c.At), str(from))
	}
	return t
}

// left is how long it is until a time, or a word once it has passed.
func left(t, now time.Time, over string) Value {
	switch {
	case t.IsZero():
		return Value{}
	case !now.Before(t):
		return str(over)
	}
	return took(t.Sub(now))
}

// when is a time for programs.
func when(t time.Time) Value {
	if t.IsZero() {
		return Value{}
	}
	return str(stamp(t))
}
