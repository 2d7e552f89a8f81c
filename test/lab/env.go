package lab

import (
	"fmt"
	"path/filepath"
	"strings"
)

// EnvFile is the name, within the lab's directory, of the file to source.
const EnvFile = "env"

// Env returns what scripts and programs need to use the lab, and its cluster if
// it has one, as NAME=value.
func (l *Lab) Env() []string {
	env := []string{
		"LAB_DIR=" + l.Dir,
		"CONTAINER_RUNTIME_ENDPOINT=" + l.RuntimeEndpoint,
		"REGISTRY=" + l.Registry,
		"CGROUP_ROOT=" + l.CgroupRoot,
		"CNI_CONF_DIR=" + l.CNIConfDir,
		"CNI_BIN_DIR=" + l.CNIBinDir,
		"BRIDGE=" + l.Bridge,
		"SUBNET=" + l.Subnet,
		"OTLP_ENDPOINT=" + l.OTLPEndpoint,
		"OTLP_PROTOCOL=" + otlpProtocol,
		"CONTAINERD_BIN=" + l.ContainerdBin,
	}
	var all []string
	for _, i := range Images() {
		env = append(env, "IMAGE_"+strings.ToUpper(string(i))+"="+l.Image(i))
		all = append(all, l.Image(i))
	}
	env = append(env, "IMAGES="+strings.Join(all, " "))
	if l.state.Cluster != nil {
		env = append(env, newCluster(l).env()...)
	}
	return env
}

// EnvScript returns Env as shell assignments.
func (l *Lab) EnvScript() string {
	var b strings.Builder
	for _, kv := range l.Env() {
		name, value, _ := strings.Cut(kv, "=")
		_, _ = fmt.Fprintf(&b, "export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}
	return b.String()
}

func (l *Lab) writeEnv() error {
	return writeFile(filepath.Join(l.Dir, EnvFile), []byte(l.EnvScript()))
}
