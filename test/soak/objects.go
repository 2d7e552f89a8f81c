package main

import (
	"context"
	"encoding/json"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const namespace = "soak"

// makeObjects makes what the pods need.
func (s *soak) makeObjects(ctx context.Context) error {
	meta := metav1.ObjectMeta{Name: namespace, Namespace: namespace}
	core := s.client.CoreV1()
	_, err := core.Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err == nil {
		_, err = core.ConfigMaps(namespace).Create(ctx, &v1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"k": "v"}}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = core.Secrets(namespace).Create(ctx, &v1.Secret{ObjectMeta: meta, StringData: map[string]string{"k": "v"}}, metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	for range 100 {
		if _, err = core.ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{}); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

func intstr8080() intstr.IntOrString { return intstr.FromInt32(8080) }

func unmarshal(raw []byte, into any) error { return json.Unmarshal(raw, into) }
