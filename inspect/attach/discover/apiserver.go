package discover

// Access is how the API server is reached. It is used only if the user asks for it: attach never takes an administrator's credentials unasked.
type Access struct {
	// Who says whose rights these are.
	Who string
	// Kubeconfig is a file, as this process sees it; "" where InCluster.
	Kubeconfig string `json:",omitempty"`
	// InCluster is the service account of the pod that this process runs in.
	InCluster bool `json:",omitempty"`
}

// accessBy is what the user named; nil for nothing.
func accessBy(o Options) *Access {
	switch {
	case o.InCluster:
		return &Access{Who: "this pod's service account", InCluster: true}
	case o.Kubeconfig != "":
		return &Access{Who: "the kubeconfig " + o.Kubeconfig, Kubeconfig: o.Kubeconfig}
	}
	return nil
}

// administrators are the kubeconfigs that control planes have: of kubeadm, k3s, RKE2, k0s and microk8s.
var administrators = []string{
	"/etc/kubernetes/admin.conf", "/etc/rancher/k3s/k3s.yaml", "/etc/rancher/rke2/rke2.yaml", "/var/lib/k0s/pki/admin.conf",
	"/var/snap/microk8s/current/credentials/client.config",
}

// administratorOn returns an administrator's kubeconfig that is on the node, as the kubelet's process sees it; "" for none.
func administratorOn(v View, root string) string {
	for _, file := range administrators {
		if exists(v, root, file) {
			return file
		}
	}
	return ""
}

// apiServerSource says what the API server gives.
func (f *Found) apiServerSource() Source {
	s := Source{Name: SourceAPIServer, Where: "no kubeconfig"}
	if f.Access == nil {
		s.Missing = "name a kubeconfig with --kubeconfig FILE, which may list and watch pods and events"
		if f.administrator != "" {
			s.Missing += ", such as " + f.Outside(f.administrator)
		}
		if f.Config.Kubeconfig != "" {
			s.Missing += "; the kubelet's own, " + f.Config.Kubeconfig + ", may read this node's pods, but no Events"
		}
		return s
	}
	s.There, s.Where = true, "with the rights of "+f.Access.Who
	s.Gives = "Events about this node's pods, in whole seconds; their specs (probes, containers, grace period) and statuses"
	return s
}
