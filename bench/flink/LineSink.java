package bench;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.streaming.api.functions.sink.legacy.RichSinkFunction;
import org.apache.flink.streaming.api.functions.sink.legacy.SinkFunction;
import org.apache.flink.streaming.api.operators.StreamingRuntimeContext;
import org.apache.flink.types.Row;

/** Keeps every result of a query as a line, its fields apart by tabs; `kept` false: drops it. */
public class LineSink extends RichSinkFunction {
    private final int query;
    private final boolean kept;

    public LineSink(int query, boolean kept) {
        this.query = query;
        this.kept = kept;
    }

    public void open(OpenContext context) {
        LatencyReporter.show(((StreamingRuntimeContext) this.getRuntimeContext()).getOperatorUniqueID());
    }

    public void invoke(Object value, SinkFunction.Context context) {
        if (!this.kept) return;
        Row row = (Row) value;
        StringBuilder line = new StringBuilder();
        for (int field = 0; field < row.getArity(); field++) {
            if (field > 0) line.append('\t');
            line.append(String.valueOf(row.getField(field)));
        }
        Results.write(this.query, line.toString());
    }
}
