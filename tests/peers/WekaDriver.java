// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.FileReader;
import java.util.Locale;
import weka.classifiers.Classifier;
import weka.classifiers.bayes.BayesNet;
import weka.core.Instances;

/**
 * Trains a classifier of Weka and prints what it says, with all digits:
 *
 *     WekaDriver CLASS INDEX TRAIN.arff TEST.arff [OPTION]...
 *
 * INDEX is that of the class attribute, from 0. One line "distribution P P ..." for each row of TEST, in
 * the order of the declared labels; of a BayesNet also "parents ATTRIBUTE PARENT ..." (indices).
 */
public class WekaDriver {
    static Instances read(String path, int index) throws Exception {
        Instances rows = new Instances(new BufferedReader(new FileReader(path)));
        rows.setClassIndex(index);
        return rows;
    }

    static void printParents(BayesNet net) {
        for (int n = 0; n < net.getNrOfNodes(); n++) {
            StringBuilder line = new StringBuilder("parents " + n);
            for (int p = 0; p < net.getNrOfParents(n); p++) {
                line.append(' ').append(net.getParent(n, p));
            }
            System.out.println(line);
        }
    }

    public static void main(String[] arguments) throws Exception {
        String[] options = new String[arguments.length - 4];
        System.arraycopy(arguments, 4, options, 0, options.length);
        int index = Integer.parseInt(arguments[1]);
        Instances test = read(arguments[3], index);
        Classifier classifier = Classifier.forName(arguments[0], options);
        classifier.buildClassifier(read(arguments[2], index));
        StringBuilder out = new StringBuilder();
        for (int n = 0; n < test.numInstances(); n++) {
            out.append("distribution");
            for (double p : classifier.distributionForInstance(test.instance(n))) {
                out.append(String.format(Locale.ROOT, " %.17g", p));
            }
            out.append('\n');
        }
        System.out.print(out);
        if (classifier instanceof BayesNet) {
            printParents((BayesNet) classifier);
        }
    }
}
