package dev.lite.samples.thumbnail;

import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Iterator;
import java.util.Random;
import javax.imageio.ImageIO;
import javax.imageio.ImageReader;
import javax.imageio.stream.ImageInputStream;

/** What the JDK can do with pictures; needs no display. */
final class Pictures {

    /** The decoder takes up to 8 bytes for a pixel, so 256 MiB for a picture. */
    private static final int PIXELS_MAX = 1 << 25;

    private Pictures() {}

    /** Scales a picture to this width, and keeps its proportions. */
    static BufferedImage scale(BufferedImage picture, int width) {
        int height = scaledHeight(picture, width);
        BufferedImage scaled = new BufferedImage(width, height, BufferedImage.TYPE_INT_RGB);
        Graphics2D graphics = scaled.createGraphics();
        graphics.setRenderingHint(RenderingHints.KEY_INTERPOLATION, RenderingHints.VALUE_INTERPOLATION_BILINEAR);
        graphics.drawImage(picture, 0, 0, width, height, null);
        graphics.dispose();
        return scaled;
    }

    /** The height of the picture when it is scaled to this width. */
    static int scaledHeight(BufferedImage picture, int width) {
        return Math.max(1, Math.round((float) width * picture.getHeight() / picture.getWidth()));
    }

    /** Takes a "photo": a colour gradient with grain, which makes its PNG as large as that of a photo. */
    static BufferedImage photo(int width, int height, Random random) {
        BufferedImage photo = new BufferedImage(width, height, BufferedImage.TYPE_INT_RGB);
        int blue = random.nextInt(192);
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
                int grain = random.nextInt(1 << 18);
                int red = 192 * x / width + (grain & 0x3F);
                int green = 192 * y / height + (grain >> 6 & 0x3F);
                photo.setRGB(x, y, red << 16 | green << 8 | blue + (grain >> 12));
            }
        }
        return photo;
    }

    /** Encodes a picture as {@code png} or {@code jpeg}. */
    static byte[] encode(BufferedImage picture, String format) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            if (!ImageIO.write(picture, format, bytes)) {
                throw new IllegalArgumentException("this JDK cannot write a picture as " + format);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write a picture as " + format, e);
        }
        return bytes.toByteArray();
    }

    /** Decodes a picture in any format that the JDK knows. */
    static BufferedImage decode(byte[] bytes) {
        try (ImageInputStream input = ImageIO.createImageInputStream(new ByteArrayInputStream(bytes))) {
            Iterator<ImageReader> readers = ImageIO.getImageReaders(input);
            if (!readers.hasNext()) {
                throw new IllegalArgumentException(
                        "%,d bytes are no picture that this JDK knows".formatted(bytes.length));
            }
            ImageReader reader = readers.next();
            try {
                reader.setInput(input, true, true);
                checkSize(reader.getWidth(0), reader.getHeight(0));
                return reader.read(0);
            } finally {
                reader.dispose();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read a picture of %,d bytes".formatted(bytes.length), e);
        }
    }

    /** A few bytes can declare a huge picture, and the decoder allocates what the header says. */
    private static void checkSize(int width, int height) {
        if ((long) width * height > PIXELS_MAX) {
            throw new IllegalArgumentException(
                    "the picture has %,d x %,d pixels; at most %,d are allowed".formatted(width, height, PIXELS_MAX));
        }
    }
}
