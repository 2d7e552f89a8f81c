package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	memory "github.com/kubeloupe/kubeloupe/agent/memory/state"

	cpus "github.com/kubeloupe/kubeloupe/agent/cpus/state"
	devices "github.com/kubeloupe/kubeloupe/agent/device/checkpoint"
	claims "github.com/kubeloupe/kubeloupe/agent/dra/checkpoint"
)

// consistent waits until the state files say the same as the containers of these pods, and nothing of others, except devices of pods that are gone:
// upstream's kubelet and kubeloupe free them when the next pod asks for some.
func (m *managed) consistent(pods map[string]given) {
	m.t.Helper()
	want := map[string]string{}
	for name, g := range pods {
		p, err := m.get(name)
		if err != nil {
			m.t.Fatal(err)
		}
		uid := string(p.UID)
		if g.CPUs == m.own.String() {
			want["cpu "+uid], want["memory "+uid] = g.CPUs, "0"
		}
		want["alpha "+uid], want["beta "+uid] = strings.Join(g.Alpha, " "), strings.Join(g.Beta, " ")
		want["claimed "+uid] = strings.Join(g.Claimed, " ")
	}
	eventually(m.t, "consistent state files", func() string {
		have, err := m.stateFiles()
		if err != nil {
			return err.Error()
		}
		maps.DeleteFunc(have, func(k, _ string) bool {
			_, wanted := want[k]
			return !wanted && (strings.HasPrefix(k, "alpha ") || strings.HasPrefix(k, "beta "))
		})
		pool := m.all
		for k := range want {
			if strings.HasPrefix(k, "cpu ") {
				pool = m.all.Difference(m.own)
			}
		}
		if shared := have["pool"]; shared != pool.String() {
			return fmt.Sprintf("the shared CPUs are %s, want %s", shared, pool)
		}
		delete(have, "pool")
		if !maps.Equal(have, want) {
			return fmt.Sprintf("they say %v, the containers have %v", have, want)
		}
		return ""
	})
}

// stateFiles reads the state files of all managers.
func (m *managed) stateFiles() (map[string]string, error) {
	out := map[string]string{}
	c, err := cpus.Parse([]byte(read(m.t, m.root("cpu_manager_state"))))
	if err != nil {
		return nil, err
	}
	out["pool"] = c.Default.String()
	for uid, containers := range c.Assigned {
		for _, set := range containers {
			out["cpu "+uid] += set.String()
		}
	}
	mem, err := memory.Parse([]byte(read(m.t, m.root("memory_manager_state"))))
	if err != nil {
		return nil, err
	}
	if mem.PolicyName != "Static" {
		return nil, fmt.Errorf("the memory manager's policy is %s", mem.PolicyName)
	}
	for uid, containers := range mem.Entries {
		for _, blocks := range containers {
			for _, b := range blocks {
				out["memory "+uid] += strings.Trim(fmt.Sprint(b.NUMAAffinity), "[]")
			}
		}
	}
	entries, _, _, err := devices.Read(m.root("device-plugins", devices.Name))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		_, name, _ := strings.Cut(e.ResourceName, "/")
		out[name+" "+e.PodUID] = strings.Join(slices.Sorted(slices.Values(e.DeviceIDs[0])), " ") // all are on NUMA node 0
	}
	all, err := claims.Read(m.root(claims.Name))
	if err != nil {
		return nil, err
	}
	of := map[string][]string{}
	for _, c := range all {
		for uid := range c.PodUIDs {
			for _, d := range c.DriverState[draDriver].Devices {
				of[uid] = append(of[uid], d.DeviceName)
			}
		}
	}
	for uid, names := range of {
		slices.Sort(names)
		out["claimed "+uid] = strings.Join(names, " ")
	}
	return out, nil
}
