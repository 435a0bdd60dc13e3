// Package kubernetes checks the manifests of this folder.
package kubernetes

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// decode reads the documents of a file as Kubernetes' own types. A field that does
// not exist, or that is there twice, is an error.
func decode(text []byte) (objects []runtime.Object, err error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, autoscalingv2.AddToScheme, networkingv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
	for r := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := r.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		object, _, err := strict.Decode(document, nil, nil)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
}

// manifests are all objects of this folder.
func manifests(t *testing.T) (all []runtime.Object) {
	t.Helper()
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := decode(text)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		all = append(all, objects...)
	}
	return all
}

// of are the objects of a type, by name.
func of[T interface {
	runtime.Object
	metav1.Object
}](t *testing.T,
) map[string]T {
	t.Helper()
	found := map[string]T{}
	for _, o := range manifests(t) {
		if one, ok := o.(T); ok {
			found[one.GetName()] = one
		}
	}
	return found
}

// pods are the templates of pods, by the name of what makes them.
func pods(t *testing.T) map[string]corev1.PodTemplateSpec {
	t.Helper()
	all := map[string]corev1.PodTemplateSpec{}
	for name, s := range of[*appsv1.StatefulSet](t) {
		all[name] = s.Spec.Template
	}
	for name, d := range of[*appsv1.Deployment](t) {
		all[name] = d.Spec.Template
	}
	return all
}

func TestManifests_AreWhatKubernetesKnows(t *testing.T) {
	kinds := map[string]int{}
	for _, o := range manifests(t) {
		kinds[o.GetObjectKind().GroupVersionKind().Kind]++
		about, err := meta.Accessor(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, isNamespace := o.(*corev1.Namespace); !isNamespace && about.GetNamespace() != "ktrdr" {
			t.Errorf("%s is in the namespace %q", about.GetName(), about.GetNamespace())
		}
	}
	want := map[string]int{
		"Namespace": 1, "ServiceAccount": 1, "Service": 1, "StatefulSet": 1, "Deployment": 2, "NetworkPolicy": 1, "HorizontalPodAutoscaler": 2,
	}
	if !maps.Equal(kinds, want) {
		t.Errorf("there are %v, want %v", kinds, want)
	}
}

func TestDecode_RefusesWhatKubernetesDoesNotKnow(t *testing.T) {
	for name, text := range map[string]string{
		"a field":          "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {portz: []}\n",
		"a field twice":    "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {type: ClusterIP, type: NodePort}\n",
		"a kind":           "apiVersion: v1\nkind: Servise\nmetadata: {name: x}\n",
		"the wrong type":   "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {replicas: many}\n",
		"another document": "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n---\napiVersion: v1\nkind: Nothing\n",
	} {
		if _, err := decode([]byte(text)); err == nil {
			t.Errorf("%s that does not exist was read", name)
		}
	}
}

// What the restricted pod security standard asks for, and limits.
func TestPods_MayDoOnlyWhatTheyMust(t *testing.T) {
	for name, pod := range pods(t) {
		of := pod.Spec.SecurityContext
		if of == nil || of.RunAsNonRoot == nil || !*of.RunAsNonRoot || of.SeccompProfile == nil ||
			of.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: the pod may run as root or without seccomp", name)
		}
		if mount := pod.Spec.AutomountServiceAccountToken; mount == nil || *mount {
			t.Errorf("%s: the pod gets a token of Kubernetes", name)
		}
		if grace := pod.Spec.TerminationGracePeriodSeconds; grace == nil || *grace <= 25 {
			t.Errorf("%s: a graceful stop may take 25 s", name)
		}
		for _, c := range pod.Spec.Containers {
			s := c.SecurityContext
			if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.ReadOnlyRootFilesystem == nil ||
				!*s.ReadOnlyRootFilesystem || s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") {
				t.Errorf("%s: the container %s may do more than it must", name, c.Name)
			}
			for _, what := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				limit, request := c.Resources.Limits[what], c.Resources.Requests[what]
				if limit.IsZero() || request.IsZero() {
					t.Errorf("%s: the container %s has no limit or request of %s", name, c.Name, what)
				}
			}
			volumes := map[string]bool{}
			for _, v := range pod.Spec.Volumes {
				volumes[v.Name] = true
			}
			for _, claim := range claims(t, name) {
				volumes[claim.Name] = true
			}
			for _, m := range c.VolumeMounts {
				if !volumes[m.Name] {
					t.Errorf("%s: the container %s mounts %s, which the pod does not have", name, c.Name, m.Name)
				}
			}
			for _, e := range c.Env {
				if word := strings.ToLower(e.Value); strings.Contains(word, "password") || strings.Contains(word, "ktrdr_") {
					t.Errorf("%s: %s has a secret in the manifest", name, e.Name)
				}
			}
		}
	}
}

// claims are the volumes that each pod of a StatefulSet has of its own.
func claims(t *testing.T, name string) []corev1.PersistentVolumeClaim {
	t.Helper()
	if s := of[*appsv1.StatefulSet](t)[name]; s != nil {
		return s.Spec.VolumeClaimTemplates
	}
	return nil
}

func TestBackend_IsReachedAndWatched(t *testing.T) {
	backend := of[*appsv1.StatefulSet](t)["ktrdr-backend"]
	service := of[*corev1.Service](t)[backend.Spec.ServiceName]
	if service == nil || !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(backend.Spec.Template.Labels)) {
		t.Fatalf("no service finds the backend's pods %v", backend.Spec.Template.Labels)
	}
	c := backend.Spec.Template.Spec.Containers[0]
	if service.Spec.Ports[0].TargetPort.String() != c.Ports[0].Name || service.Spec.Ports[0].Port != c.Ports[0].ContainerPort {
		t.Errorf("the service leads to %v, the backend listens on %v", service.Spec.Ports, c.Ports)
	}
	for name, probe := range map[string]*corev1.Probe{"startup": c.StartupProbe, "readiness": c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != "/api/v1/health" {
			t.Errorf("the %s probe is %+v", name, probe)
		}
	}
	if c.LivenessProbe == nil || c.LivenessProbe.HTTPGet != nil {
		t.Error("a database that is away would restart the backend")
	}
	var database *corev1.SecretKeySelector
	for _, e := range c.Env {
		if e.Name == "KTRDR_DB" && e.ValueFrom != nil {
			database = e.ValueFrom.SecretKeyRef
		}
	}
	if database == nil || database.Name == "" || database.Key == "" {
		t.Error("the address of PostgreSQL is no reference to a secret")
	}
	if own := backend.Spec.VolumeClaimTemplates; len(own) != 1 || own[0].Spec.Resources.Requests.Storage().IsZero() {
		t.Errorf("the backend keeps nothing: %+v", own)
	}
}

func TestWorkers_AreScaledByTheirQueue(t *testing.T) {
	deployments, scalers := of[*appsv1.Deployment](t), of[*autoscalingv2.HorizontalPodAutoscaler](t)
	for name, d := range deployments {
		scaler := scalers[name]
		if scaler == nil || scaler.Spec.ScaleTargetRef.Name != name || scaler.Spec.ScaleTargetRef.Kind != "Deployment" {
			t.Errorf("nothing scales %s", name)
			continue
		}
		if d.Spec.Replicas != nil {
			t.Errorf("%s sets the number of its workers, and so does what scales it", name)
		}
		args := d.Spec.Template.Spec.Containers[0].Args
		kind := args[slices.Index(args, "--types")+1]
		if m := scaler.Spec.Metrics[0].External; m == nil || m.Metric.Name != "ktrdr_wanted_slots" ||
			m.Metric.Selector == nil || m.Metric.Selector.MatchLabels["type"] != kind {
			t.Errorf("%s runs %s and is scaled by %+v", name, kind, m)
		}
	}
	policy := of[*networkingv1.NetworkPolicy](t)["ktrdr-workers"]
	selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	if err != nil {
		t.Fatal(err)
	}
	for name, pod := range pods(t) {
		if isWorker := deployments[name] != nil; selector.Matches(labels.Set(pod.Labels)) != isWorker {
			t.Errorf("the network policy of workers holds for %s: %v", name, !isWorker)
		}
	}
}
