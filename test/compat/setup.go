package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

const (
	namespace     = "compat"
	podName       = "web"
	containerName = "main"
)

// setUp makes the pod and who asks, and waits for both.
func setUp(ctx context.Context, c *lab.Cluster) (target, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return target{}, err
	}
	client, err := c.Client()
	if err != nil {
		return target{}, err
	}
	if _, err := client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); ignoreExists(err) != nil {
		return target{}, err
	}
	credentials, err := whoAsks(ctx, c, client, config)
	if err != nil {
		return target{}, err
	}
	pod, err := makePod(ctx, c, client)
	if err != nil {
		return target{}, err
	}
	return target{
		address: net.JoinHostPort(c.NodeIP, strconv.Itoa(c.KubeletPort)), credentials: credentials,
		words: words(string(pod.UID), credentials[noRole].token),
	}, nil
}

func words(uid, token string) *strings.Replacer {
	return strings.NewReplacer("${NS}", namespace, "${POD}", podName, "${C}", containerName, "${UID}", uid, "${TOKEN}", token)
}

func whoAsks(ctx context.Context, c *lab.Cluster, client kubernetes.Interface, config *rest.Config) (map[string]credential, error) {
	root, err := tls.LoadX509KeyPair(config.CertFile, config.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("the administrator's certificate: %w", err)
	}
	ca, err := tls.LoadX509KeyPair(c.CAFile, filepath.Join(filepath.Dir(c.CAFile), "ca.key"))
	if err != nil {
		return nil, fmt.Errorf("the cluster's authority: %w", err)
	}
	other, err := issue(ca, "nobody-in-particular")
	if err != nil {
		return nil, err
	}
	out := map[string]credential{
		admin: {cert: &root}, nobody: {}, stranger: {token: "made.up.token"}, noRights: {cert: other},
	}
	for _, name := range append([]string{noRole}, subresources...) {
		token, err := account(ctx, client, name)
		if err != nil {
			return nil, fmt.Errorf("service account %s: %w", name, err)
		}
		out[name] = credential{token: token}
	}
	return out, nil
}

// account makes a service account that may do everything with one subresource of nodes, and returns a token of it.
func account(ctx context.Context, client kubernetes.Interface, name string) (string, error) {
	accounts := client.CoreV1().ServiceAccounts(namespace)
	if _, err := accounts.Create(ctx, &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); ignoreExists(err) != nil {
		return "", err
	}
	if name != noRole {
		meta := metav1.ObjectMeta{Name: "compat-" + name}
		role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"nodes/" + name}}}}
		if _, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); ignoreExists(err) != nil {
			return "", err
		}
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		}
		if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); ignoreExists(err) != nil {
			return "", err
		}
	}
	token, err := accounts.CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return token.Status.Token, nil
}

func makePod(ctx context.Context, c *lab.Cluster, client kubernetes.Interface) (*v1.Pod, error) {
	pods := client.CoreV1().Pods(namespace)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: podName}, Spec: v1.PodSpec{
		TerminationGracePeriodSeconds: new(int64),
		Containers: []v1.Container{{
			Name: containerName, Image: c.Image(lab.ImageBusybox), Command: []string{"sh", "-c", "echo one; echo two >&2; while sleep 1; do :; done"},
		}},
	}}
	end := time.Now().Add(2 * time.Minute)
	for {
		// It takes a moment until the namespace has the account that pods need.
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		if err = ignoreExists(err); err == nil {
			var got *v1.Pod
			if got, err = pods.Get(ctx, podName, metav1.GetOptions{}); err == nil {
				if st := got.Status.ContainerStatuses; len(st) == 1 && st[0].Ready {
					return got, nil
				}
				err = errors.New("the pod is not ready")
			}
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// issue makes a client certificate for name.
func issue(ca tls.Certificate, name string) (*tls.Certificate, error) {
	parent, err := x509.ParseCertificate(ca.Certificate[0])
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), ca.PrivateKey)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
