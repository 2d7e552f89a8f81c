package discover

import "path"

// Rights are credentials on this node that a kubelet accepts for its API.
type Rights struct {
	// Who says whose they are.
	Who string
	// Cert and Key are the files of a client certificate, Kubeconfig a file that has one; one of both is given.
	Cert, Key  string `json:",omitempty"`
	Kubeconfig string `json:",omitempty"`
	// Named says that the user named the kubeconfig: it is a path as this process sees it.
	Named bool `json:",omitempty"`
	// InCluster is the service account of the pod that this process runs in.
	InCluster bool `json:",omitempty"`
}

// rightsOn looks which credentials there are, as they are on control planes. A worker has none: the kubelet's own identity may not use its
// API. Whether they are accepted is not tried.
func rightsOn(v View, root string, f flags) *Rights {
	const pki = "/etc/kubernetes/pki"
	server := path.Join(or(f["data-dir"], "/var/lib/rancher/k3s"), "server/tls")
	for _, r := range []Rights{
		{Who: "kubeadm's API server", Cert: pki + "/apiserver-kubelet-client.crt", Key: pki + "/apiserver-kubelet-client.key"},
		{Who: "kubeadm's administrator", Kubeconfig: "/etc/kubernetes/admin.conf"},
		{Who: "the k3s server", Cert: server + "/client-kube-apiserver.crt", Key: server + "/client-kube-apiserver.key"},
		{Who: "the RKE2 server", Cert: "/var/lib/rancher/rke2/server/tls/client-kube-apiserver.crt", Key: "/var/lib/rancher/rke2/server/tls/client-kube-apiserver.key"},
		{Who: "the k0s controller", Cert: "/var/lib/k0s/pki/apiserver-kubelet-client.crt", Key: "/var/lib/k0s/pki/apiserver-kubelet-client.key"},
		{Who: "microk8s", Kubeconfig: "/var/snap/microk8s/current/credentials/client.config"},
	} {
		if r.Kubeconfig != "" && exists(v, root, r.Kubeconfig) {
			return &r
		}
		if r.Cert != "" && exists(v, root, r.Cert) && exists(v, root, r.Key) {
			return &r
		}
	}
	return nil
}
