package dev.lite.bench.peers.mr;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.util.LongAccumulator;
import scala.Tuple2;

/** Word count with Spark's local master of two threads, as in Spark's own example. */
public final class SparkWordCount {
    private SparkWordCount() {}

    /** See {@link Answers}. */
    public static void main(String[] arguments) throws IOException {
        SparkConf configuration = new SparkConf()
                .setMaster("local[2]")
                .setAppName("word count")
                .set("spark.ui.enabled", "false")
                .set("spark.driver.host", "127.0.0.1")
                .set("spark.driver.bindAddress", "127.0.0.1");
        try (JavaSparkContext context = new JavaSparkContext(configuration)) {
            Answers.answer((input, output) -> run(context, input, output));
        }
    }

    private static long[] run(JavaSparkContext context, Path input, Path output) {
        LongAccumulator words = context.sc().longAccumulator();
        LongAccumulator different = context.sc().longAccumulator();
        JavaPairRDD<String, Long> counts = context.textFile(input.toUri().toString())
                .flatMap(line -> Arrays.asList(line.split(" ")).iterator())
                .mapToPair(word -> new Tuple2<>(word, 1L))
                .reduceByKey(Long::sum);
        counts.mapToPair(count -> {
                    words.add(count._2());
                    different.add(1);
                    return count;
                })
                .saveAsTextFile(output.toUri().toString());
        return new long[] {words.value(), different.value()};
    }
}
