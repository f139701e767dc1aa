package bench;

import java.io.DataInputStream;
import java.io.BufferedInputStream;
import java.io.FileInputStream;
import java.util.concurrent.locks.LockSupport;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.streaming.api.functions.source.legacy.RichParallelSourceFunction;
import org.apache.flink.streaming.api.functions.source.legacy.SourceFunction;

/**
 * Rows that are made before the run and replayed in a ring. Row number i is row i mod n of the file, and is due at
 * t0 + i / rate, where t0 is told when all subtasks are open; without a rate, as soon as it is taken. Subtask k of n has the rows whose number is k mod n.
 * The one row object stands for whichever row is the current one, so that emitting costs a call.
 */
public class RingSource extends RichParallelSourceFunction {
    static final int BURST = 1024;
    private final String path;
    private final int columns;
    private final long rate;
    private final int query;
    private volatile boolean running = true;
    private transient long[][] ring;
    private transient long t0Micros;

    public RingSource(String path, int columns, long rate, int query) {
        this.path = path;
        this.columns = columns;
        this.rate = rate;
        this.query = query;
    }

    public void open(OpenContext context) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(this.path), 1 << 20));
        int rows = (int) in.readLong();
        this.ring = new long[this.columns][rows];
        for (int column = 0; column < this.columns; column++) {
            for (int row = 0; row < rows; row++) this.ring[column][row] = in.readLong();
        }
        in.close();
    }

    public void run(SourceFunction.SourceContext context) throws Exception {
        int subtask = this.getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
        int step = this.getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks();
        RingRow row = new RingRow(this.ring);
        Counter counter = Results.counter(this.query, subtask);
        while (this.running && (this.t0Micros = Results.begin) == 0L) LockSupport.parkNanos(1000000L);
        long next = subtask;
        while (this.running) {
            long due = this.rate == 0 ? Long.MAX_VALUE : this.scheduled();
            if (due <= next) {
                LockSupport.parkNanos(200000L);
                continue;
            }
            long last = Math.min(due, next + (long) BURST * step);
            synchronized (context.getCheckpointLock()) {
                for (; next < last; next += step) {
                    row.at(next, this.time(next));
                    context.collect(row);
                }
            }
            counter.emitted = next / step;
            counter.lagMicros = this.rate == 0 ? 0L : Results.nowMicros() - this.time(next - step);
        }
    }

    private long scheduled() {
        long passed = Results.nowMicros() - this.t0Micros;
        return passed < 0 ? 0L : (long) ((double) passed * (double) this.rate / 1e6) + 1L;
    }

    private long time(long number) {
        if (this.rate == 0) return this.t0Micros + number / 100L;
        long seconds = number / this.rate;
        return this.t0Micros + seconds * 1000000L + (number - seconds * this.rate) * 1000000L / this.rate;
    }

    public void cancel() {
        this.running = false;
    }
}
