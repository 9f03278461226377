package dev.lite.bench.peers.mr;

import java.io.IOException;
import java.nio.file.Path;
import java.util.StringTokenizer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;

/** Word count with Hadoop's local runner: two map tasks and two reduce tasks at a time, with a combiner. */
public final class HadoopWordCount {
    private static final int THREADS = 2;
    /** How often it asks for the end of the job; the default of 5 s would round its time up. */
    private static final int POLL_MS = 10;

    private HadoopWordCount() {}

    /** See {@link Answers}. */
    public static void main(String[] arguments) throws IOException {
        Answers.answer(HadoopWordCount::run);
    }

    private static long[] run(Path input, Path output) throws IOException {
        Configuration configuration = new Configuration();
        configuration.set("mapreduce.framework.name", "local");
        configuration.set("fs.defaultFS", "file:///");
        configuration.setInt("mapreduce.local.map.tasks.maximum", THREADS);
        configuration.setInt("mapreduce.local.reduce.tasks.maximum", THREADS);
        configuration.set("hadoop.tmp.dir", output.resolveSibling("hadoop").toString());
        configuration.setInt(Job.COMPLETION_POLL_INTERVAL_KEY, POLL_MS);
        Job job = Job.getInstance(configuration, "word count");
        job.setJarByClass(HadoopWordCount.class);
        job.setMapperClass(Words.class);
        job.setCombinerClass(Sum.class);
        job.setReducerClass(Sum.class);
        job.setNumReduceTasks(THREADS);
        job.setOutputKeyClass(Text.class);
        job.setOutputValueClass(LongWritable.class);
        FileInputFormat.addInputPath(job, new org.apache.hadoop.fs.Path(input.toUri()));
        FileOutputFormat.setOutputPath(job, new org.apache.hadoop.fs.Path(output.toUri()));
        try {
            if (!job.waitForCompletion(false)) {
                throw new IOException("the job failed: " + job.getStatus().getFailureInfo());
            }
        } catch (InterruptedException | ClassNotFoundException e) {
            throw new IOException("the job failed: " + e, e);
        }
        return new long[] {
            job.getCounters().findCounter(TaskCounter.MAP_OUTPUT_RECORDS).getValue(),
            job.getCounters().findCounter(TaskCounter.REDUCE_OUTPUT_RECORDS).getValue()
        };
    }

    /** Emits each word of a line. */
    public static final class Words extends Mapper<Object, Text, Text, LongWritable> {
        private static final LongWritable ONE = new LongWritable(1);
        private final Text word = new Text();

        @Override
        protected void map(Object key, Text value, Context context) throws IOException, InterruptedException {
            StringTokenizer words = new StringTokenizer(value.toString());
            while (words.hasMoreTokens()) {
                word.set(words.nextToken());
                context.write(word, ONE);
            }
        }
    }

    /** Adds the counts of a word. */
    public static final class Sum extends Reducer<Text, LongWritable, Text, LongWritable> {
        private final LongWritable sum = new LongWritable();

        @Override
        protected void reduce(Text key, Iterable<LongWritable> values, Context context)
                throws IOException, InterruptedException {
            long all = 0;
            for (LongWritable value : values) {
                all += value.get();
            }
            sum.set(all);
            context.write(key, sum);
        }
    }
}
