// Command e2enode runs Kubernetes' own tests of a node (k8s.io/kubernetes/test/e2e_node) in a virtual machine of test/vm/node, with kubeloupe
// in the place of the kubelet, or with upstream's kubelet, and lists what passed and failed under each. It is run in the work tree, as root.
//
// The machine has everything: e2e_node.test runs etcd and an API server beside the tests, and starts the program called kubelet by
// systemd-run. The machine reaches no registry, so it has one itself, with the images of test/conformance.
//
// It publishes no trace events.
package main
