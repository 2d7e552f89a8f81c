package criconfig

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// ServiceEnv returns the variables through which a pod finds services: always those of the
// cluster's own API service, and with enableServiceLinks (the default) those of all services in
// its namespace. Sorted by service.
//
// Upstream: pkg/kubelet/kubelet_pods.go, getServiceEnvVarMap; pkg/kubelet/envvars.
func ServiceEnv(pod *v1.Pod, services []*v1.Service) []Var {
	links := pod.Spec.EnableServiceLinks == nil || *pod.Spec.EnableServiceLinks
	byName := map[string]*v1.Service{}
	for _, s := range services {
		if s.Spec.ClusterIP == "" || s.Spec.ClusterIP == v1.ClusterIPNone {
			continue
		}
		switch {
		case s.Namespace == v1.NamespaceDefault && s.Name == "kubernetes":
			if _, own := byName[s.Name]; !own {
				byName[s.Name] = s
			}
		case s.Namespace == pod.Namespace && links:
			byName[s.Name] = s
		}
	}
	chosen := make([]*v1.Service, 0, len(byName))
	for _, s := range byName {
		chosen = append(chosen, s)
	}
	slices.SortFunc(chosen, func(a, b *v1.Service) int { return cmp.Compare(a.Name, b.Name) })
	var vars []Var
	for _, s := range chosen {
		vars = append(vars, serviceVars(s)...)
	}
	return vars
}

func serviceVars(s *v1.Service) []Var {
	prefix, ip := varName(s.Name), s.Spec.ClusterIP
	vars := []Var{{Name: prefix + "_SERVICE_HOST", Value: ip}}
	if len(s.Spec.Ports) == 0 {
		return vars
	}
	vars = append(vars, Var{Name: prefix + "_SERVICE_PORT", Value: strconv.Itoa(int(s.Spec.Ports[0].Port))})
	for _, p := range s.Spec.Ports {
		if p.Name != "" {
			vars = append(vars, Var{Name: prefix + "_SERVICE_PORT_" + varName(p.Name), Value: strconv.Itoa(int(p.Port))})
		}
	}
	for i, p := range s.Spec.Ports {
		port := strconv.Itoa(int(p.Port))
		proto := cmp.Or(string(p.Protocol), string(v1.ProtocolTCP))
		url := strings.ToLower(proto) + "://" + net.JoinHostPort(ip, port)
		if i == 0 {
			vars = append(vars, Var{Name: prefix + "_PORT", Value: url})
		}
		link := prefix + "_PORT_" + port + "_" + strings.ToUpper(proto)
		vars = append(vars, Var{Name: link, Value: url}, Var{Name: link + "_PROTO", Value: strings.ToLower(proto)}, Var{Name: link + "_PORT", Value: port}, Var{Name: link + "_ADDR", Value: ip})
	}
	return vars
}

func varName(s string) string { return strings.ToUpper(strings.ReplaceAll(s, "-", "_")) }
