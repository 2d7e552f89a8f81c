package main

import "strconv"

// suite is how a place runs the tests, in the directory of ginkgo, e2e_node.test and the agent, which is called kubelet.
type suite struct {
	// results is the directory of the reports and logs, config the file with the agent's configuration.
	results, config string
	// node is the name of the node.
	node string
	// runtime is the program of the container runtime, runtimeCgroup its cgroup: tests of /stats/summary want the runtime's usage.
	runtime, runtimeCgroup string
	// endpoint is the container runtime's; "" is the suite's default, containerd's usual socket.
	endpoint string
	// nodeIP is the node's address; "" is that of the default route.
	nodeIP string
	// api is the URL of an API server that is not the suite's own, token what it knows the node and the tests by.
	api, token string
}

// command starts the tests: e2e_node.test takes the kubelet that is in its own directory.
func (s suite) command(o options) []string {
	args := []string{
		"./ginkgo", "--procs=" + strconv.Itoa(o.procs), "--timeout=" + o.timeout.String(), "--grace-period=2m", "--no-color",
		"--output-dir=" + s.results, "--json-report=report.json", "--junit-report=junit.xml",
		"--focus=" + o.focus, "--skip=" + o.skip, "./e2e_node.test", "--",
	}
	if s.api != "" {
		args = append(args, "--start-services=false")
	}
	return append(args, s.args(o)...)
}

// kubelet starts the agent alone, and ends it when it is ended.
func (s suite) kubelet(o options) []string {
	return append([]string{"./e2e_node.test", "--run-kubelet-mode"}, s.args(o)...)
}

// args are the arguments of e2e_node.test.
func (s suite) args(o options) []string {
	args := []string{
		"--report-dir=" + s.results, "--node-name=" + s.node, "--prepull-images=false", "--server-start-timeout=10m",
		"--kubelet-config-file=" + s.config, "--container-runtime-process-name=" + s.runtime, "--container-runtime-pid-file=",
		"--kubelet-flags=--runtime-cgroups=" + s.runtimeCgroup,
	}
	if s.api != "" {
		args = append(args, "--host="+s.api, "--bearer-token="+s.token)
	}
	if s.endpoint != "" {
		args = append(args, "--container-runtime-endpoint="+s.endpoint, "--image-service-endpoint="+s.endpoint)
	}
	if s.nodeIP != "" {
		args = append(args, "--kubelet-flags=--node-ip="+s.nodeIP)
	}
	if o.proxy {
		args = append(args, "--cri-proxy-enabled")
	}
	if o.gates != "" {
		args = append(args, gateFlags(o.gates)...)
	}
	return args
}

// gateFlags are the flags for feature gates: the first is for the kubelet and for which tests run, the second for the API server.
func gateFlags(gates string) []string {
	return []string{"--feature-gates=" + gates, "--service-feature-gates=" + gates}
}
