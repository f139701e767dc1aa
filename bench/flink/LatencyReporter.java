package bench;

import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.metrics.Histogram;
import org.apache.flink.metrics.Metric;
import org.apache.flink.metrics.MetricConfig;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.reporter.MetricReporter;
import org.apache.flink.metrics.reporter.MetricReporterFactory;

/** Knows the histograms of Flink's latency markers, by the operator that they reached. */
public class LatencyReporter implements MetricReporter, MetricReporterFactory {
    private static final ConcurrentHashMap HISTOGRAMS = new ConcurrentHashMap();
    private static final ConcurrentHashMap SHOWN = new ConcurrentHashMap();

    public MetricReporter createMetricReporter(Properties properties) { return this; }
    public void open(MetricConfig config) { }
    public void close() { }

    public void notifyOfAddedMetric(Metric metric, String name, MetricGroup group) {
        if (metric instanceof Histogram && name.equals("latency")) {
            HISTOGRAMS.put(group.getMetricIdentifier(name), metric);
        }
    }

    public void notifyOfRemovedMetric(Metric metric, String name, MetricGroup group) { }

    /** Markers that reach this operator have gone all the way. */
    static void show(String operator) { SHOWN.put(operator, operator); }

    static void clear() {
        HISTOGRAMS.clear();
        SHOWN.clear();
    }

    /** A line per histogram of those operators: the milliseconds of its markers, the newest last. */
    public static String shown() {
        StringBuilder lines = new StringBuilder();
        for (Object name : HISTOGRAMS.keySet()) {
            if (!isShown((String) name)) continue;
            long[] values = ((Histogram) HISTOGRAMS.get(name)).getStatistics().getValues();
            for (int at = 0; at < values.length; at++) lines.append(values[at]).append(' ');
            lines.append('\n');
        }
        return lines.toString();
    }

    private static boolean isShown(String name) {
        for (Object operator : SHOWN.keySet()) if (name.indexOf((String) operator) >= 0) return true;
        return false;
    }
}
