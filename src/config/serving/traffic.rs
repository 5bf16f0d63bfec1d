//! `route`, `monitoring`, `network-policy` and `autoscaling`: a model in its cluster.

use super::pods::Labels;
use super::*;

table! {
    /// Route from a Gateway to the model.
    #[derive(Default, PartialEq, Eq)]
    pub struct RouteConfig at "route", checked by route {
        /// Name of the Gateway.
        gateway: ObjectName;
        /// Namespace of the Gateway. Default: the release namespace.
        gateway_namespace: Option<Namespace>;
        /// Creates the Gateway, in the release namespace and with this class.
        gateway_class: Option<ObjectName>;
        /// Gateway implementation, for objects specific to it: `none` (default), `istio`, `gke`.
        provider: GatewayProvider;
        /// Host names. Default: any.
        hosts: Vec<HostName>;
        /// Path prefixes, which begin with `/`. A prefix that is not part of the engine's API, such as
        /// `/team/chat`, is removed from requests, so that `/team/chat/v1/models` requests
        /// `/v1/models`. Default: `/`.
        paths: Vec<PathPrefix>;
        /// A header that must match the model's name, if several models share host and path.
        model_header: Option<HeaderName>;
        /// Request timeout; `0s` disables it. Default: `300s`.
        request_timeout: GatewayDuration = "300s".to_owned();
        /// Authentication of requests: `none` (default): no authentication; `kuadrant`: requires a
        /// token of the cluster, with an AuthPolicy.
        auth: RequestAuth;
    }
}

choices! {
    /// The implementation of a Gateway.
    pub enum GatewayProvider {
        /// Any, without objects specific to it.
        None = "none",
        /// Istio.
        Istio = "istio",
        /// GKE's.
        Gke = "gke",
    }
}

patterns! {
    // The patterns of a route are those of the Gateway API's CRDs: Hostname, HeaderName (without
    // the backquote) and Duration (GEP-2257).
    /// A host name, perhaps with a wildcard.
    HostName =
        "^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
    /// The beginning of a path.
    PathPrefix = "^/[^\\s?#]*$";
    /// The name of an HTTP header.
    HeaderName = "^[A-Za-z0-9!#$%&'*+.^_|~-]{1,256}$";
    /// A duration of the Gateway API.
    GatewayDuration = "^([0-9]{1,5}(h|m|s|ms)){1,4}$";
    /// A duration of Prometheus.
    ScrapeInterval = "^[0-9]+(s|m)$";
    /// The URL of a server.
    ServerUrl = "^https?://[^\\s]+$";
    // Also the rule of model names, which are in quotes in queries for Prometheus.
    /// The name of a metric.
    MetricName = "^[^\\s\"'\\\\]+$";
}

words! {
    /// True if an AuthPolicy requires a token.
    RequestAuth: bool = "none" => false, "kuadrant" => true;
    /// True for a KEDA ScaledObject, false for a HorizontalPodAutoscaler.
    Keda: bool = "hpa" => false, "keda" => true;
    /// True if pod metrics have the names of Google Cloud Managed Service for Prometheus.
    GkeMetrics: bool = "prometheus-adapter" => false, "gke" => true;
}

fn route(table: &mut RouteConfig, reader: &mut Reader<'_>, fields: &Fields<'_>) {
    if table.gateway_class.is_some() && fields.has("gateway-namespace") {
        let message = "`gateway-class` creates the Gateway in the release namespace";
        let hint = "remove `gateway-namespace`, or remove `gateway-class` if the Gateway already \
            exists";
        reader.error(Code::InvalidValue, &fields.place("gateway-namespace"), message, hint);
    }
    if table.paths.is_empty() {
        table.paths.push("/".to_owned());
    }
}

table! {
    /// Prometheus operator objects: a PodMonitor for engines, a ServiceMonitor for the picker.
    #[derive(PartialEq)]
    pub struct Monitoring at "monitoring" {
        /// Scrape interval. Default: `10s`.
        interval: ScrapeInterval = "10s".to_owned();
        /// Labels that your Prometheus selects. Default: none.
        labels: Labels = Default::default();
    }
}

table! {
    /// NetworkPolicies for the pods: allows Gateways, Prometheus, the picker, and the pods
    /// themselves to connect.
    #[derive(PartialEq, Eq)]
    pub struct NetworkPolicy at "network-policy" {
        /// Namespaces of the Gateway pods. Default: `gateway-namespace` of `route`, else the release
        /// namespace.
        gateways as "gateway-namespaces": Vec<Namespace>;
        /// Namespaces of Prometheus; required for `monitoring` and `autoscaling`. Default: none.
        monitoring as "monitoring-namespaces": Vec<Namespace>;
    }
}

table! {
    /// Autoscaling by the number of waiting requests per engine. With prefill, this scales the
    /// decode pods.
    #[derive(PartialEq, Eq)]
    pub struct Autoscaling at "autoscaling", checked by autoscaling {
        /// `hpa` (default): a HorizontalPodAutoscaler on the pods' metric; `keda`: a ScaledObject
        /// that queries Prometheus.
        keda as "kind": Keda;
        /// Minimum number of replicas. It cannot be 0, because waiting requests are counted by the
        /// pods. Default: 1.
        min: Integer<1, 10_000> = 1;
        /// Most replicas.
        max: Integer<1, 10_000>;
        /// Target number of waiting requests per replica. Default: 5.
        waiting: Integer<1, 100_000> = 5;
        /// URL of Prometheus, for `keda`.
        prometheus: Option<ServerUrl>;
        /// Adapter that serves pod metrics for `hpa`, which determines their names:
        /// `prometheus-adapter` (default), or `gke` for Google Cloud Managed Service for Prometheus,
        /// with a PodMonitoring for the engines.
        gke as "metrics": GkeMetrics;
        /// Name of the pod metric for `hpa`, if the adapter renames it. Default: by `metrics`.
        metric: Option<MetricName>;
    }
}

fn autoscaling(table: &mut Autoscaling, reader: &mut Reader<'_>, fields: &Fields<'_>) {
    if table.min > table.max {
        let message = format!("invalid range of replicas: {} to {}", table.min, table.max);
        let hint = "set `min` to at most `max`";
        reader.error(Code::InvalidValue, &fields.header, message, hint);
    }
    // KEDA computes its metric in the query.
    for key in ["metrics", "metric"].into_iter().filter(|key| table.keda && fields.has(key)) {
        let message = format!("`{key}` has no effect with `kind = \"keda\"`");
        let hint = "remove it: KEDA queries Prometheus";
        reader.error(Code::InvalidValue, &fields.place(key), message, hint);
    }
}
